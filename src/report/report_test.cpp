// SPDX-License-Identifier: Apache-2.0
#include "cox/report/report.hpp"

#include <gtest/gtest.h>

#include <regex>

#include "report/sample.hpp"
#include "support/make_run.hpp"
#include "support/paced_run.hpp"

namespace cox::report {
namespace {

using namespace std::chrono_literals;

struct Input {
  trace::Run run;
  diagnose::Diagnosis diagnosis;
};

Input named_input(int ranks = 4, int steps = 40) {
  Input in;
  in.run =
      test::make_run({.ranks = ranks, .steps = steps, .extras = {{.rank = 2, .amount = 4ms}}, .nodes = 2});
  in.run.info.command = "mpirun -np 4 /home/alice/secret-project/train.py --token hunter2";
  in.run.info.name = "cox-job77-0714";
  in.run.info.job = "job77";
  in.run.info.tool = "cox 0.1.0";
  in.run.nodes[0].host = "gpu-a17.cluster.example";
  in.run.nodes[1].host = "gpu-a18.cluster.example";
  for (auto& track : in.run.ranks) track.program = "/home/alice/secret-project/train.py";
  in.run.communicators[0].name = "alices-team";
  in.run.notes = {
      {"/scratch/alice/r1/rank-000003.coxraw", "cut at byte 4711, see gpu-a18 and alice@gpu-a17"}};
  in.diagnosis = test::sample_diagnosis(in.run);
  in.diagnosis.findings = {test::slow_rank_finding(2)};
  in.diagnosis.verdict = "rank 2 sets the pace: its own work on gpu-a18.cluster.example takes longer.";
  in.diagnosis.lead = "its own work on gpu-a18.cluster.example takes longer.";
  in.diagnosis.findings.push_back(
      test::slow_transfers_finding("all on host gpu-a18, seen in /scratch/alice/r1."));
  return in;
}

std::string page_of(const Input& in, const ReportOptions& options = {}) {
  const auto page = render_html(in.run, *diagnose::match_run(in.run), in.diagnosis, options);
  EXPECT_TRUE(page.has_value());
  return page.value_or("");
}

/// The page without our own scripts and data: what a reader sees.
std::string visible(const std::string& page) {
  return page.substr(0, page.find("<script"));
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Report, PacingStandsSideBySide) {
  Input in;
  in.run = test::make_paced_run({});
  in.run.communicators[0].name = "<b>world</b>";
  in.diagnosis = test::sample_diagnosis(in.run);
  auto pacing = diagnose::understand_pacing(*diagnose::match_run(in.run));
  ASSERT_TRUE(pacing);
  in.diagnosis.pacing = *std::move(pacing);
  const std::string page = page_of(in);
  const std::string text = visible(page);
  EXPECT_TRUE(has(text, "<section id=\"pacing\""));
  EXPECT_TRUE(has(text, "Baseline against control"));
  EXPECT_TRUE(has(text, "energy at full power (estimated)"));
  EXPECT_TRUE(has(text, "&lt;b&gt;world"));
  EXPECT_FALSE(has(text, "<b>world"));
  EXPECT_TRUE(has(page, "\"pacing\":{"));
  EXPECT_TRUE(has(page, "\"half\":["));
}

TEST(Report, ARunThatWasNotPacedHasNoSuchSection) {
  EXPECT_FALSE(has(visible(page_of(named_input())), "id=\"pacing\""));
}

TEST(Report, SaysTheVerdictInWords) {
  const std::string page = visible(page_of(named_input()));
  EXPECT_TRUE(has(page, "<h1>Rank <strong>2</strong> sets the pace</h1>"));
  EXPECT_TRUE(has(page, "<p class=\"lead\">Its own work on gpu-a18.cluster.example takes longer.</p>"));
  EXPECT_TRUE(has(page, "simulated"));
  EXPECT_TRUE(has(page, "100 %"));
}

TEST(Report, NamingNobodyIsAnAnswer) {
  Input in = named_input();
  in.diagnosis.findings.clear();
  in.diagnosis.lead = "no rank stands out.";
  const std::string page = visible(page_of(in));
  EXPECT_TRUE(has(page, "<h1>Nobody sets the pace</h1>"));
  EXPECT_TRUE(has(page, "No rank stands out."));
}

TEST(Report, HasEverySection) {
  const std::string page = page_of(named_input());
  std::size_t at = 0;
  for (const char* id : {"verdict", "findings", "steps", "timeline", "heat", "ranks", "coverage", "groups",
                         "limits", "provenance"}) {
    const std::size_t found = page.find(std::string("<section id=\"") + id + '"');
    ASSERT_NE(found, std::string::npos) << id;
    EXPECT_GT(found, at) << id << " is out of order";
    at = found;
  }
}

TEST(Report, AsksForNothingFromTheNetwork) {
  const std::string page = page_of(named_input());
  EXPECT_TRUE(has(page, "default-src 'none'"));
  for (const char* fetches : {"<link", "<img", "<iframe", "src=\"", "href=\"", "@import", "url("}) {
    EXPECT_FALSE(has(page, fetches)) << fetches;
  }
}

TEST(Report, HostileNamesStayText) {
  Input in = named_input();
  const std::string attack =
      "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"' --><![CDATA[ \x1b\xff";
  in.run.nodes[0].host = attack;
  in.run.info.command = attack;
  in.run.info.name = attack;
  in.run.communicators[0].name = attack;
  in.run.notes = {{attack, attack}};
  for (auto& track : in.run.ranks) track.program = track.library = track.timing = attack;
  in.diagnosis = test::sample_diagnosis(in.run);
  in.diagnosis.findings = {test::slow_rank_finding(2)};
  in.diagnosis.findings.push_back(test::slow_transfers_finding(attack));
  in.diagnosis.verdict = in.diagnosis.lead = attack;
  in.diagnosis.findings[0].components = {attack};
  in.diagnosis.cannot_tell = {attack};
  const std::string page = page_of(in);
  EXPECT_FALSE(has(page, "<script>alert"));
  EXPECT_FALSE(has(page, "<img"));
  EXPECT_EQ(page.find('\x1b'), std::string::npos);
  const std::regex open("<script"), close("</script>");
  const auto count = [&](const std::regex& r) {
    return std::distance(std::sregex_iterator(page.begin(), page.end(), r), std::sregex_iterator());
  };
  EXPECT_EQ(count(open), 3) << "description, data, our script";
  EXPECT_EQ(count(close), 3);
}

TEST(Report, AnonymizeLeavesNoName) {
  const std::string page = page_of(named_input(), {.anonymize = Anonymize::Yes});
  for (const char* secret : {"gpu-a17", "gpu-a18", "cluster.example", "alice", "secret-project", "train.py",
                             "hunter2", "scratch", "job77", "rank-000003", "mpirun"}) {
    EXPECT_FALSE(has(page, secret)) << secret;
  }
  EXPECT_TRUE(has(page, "host-1"));
  EXPECT_TRUE(has(page, "program-1"));
  EXPECT_TRUE(has(page, "on host-2 takes longer")) << "equal names keep equal replacements";
  EXPECT_TRUE(has(page, "Rank <strong>2</strong>")) << "numbers stay";
}

TEST(Report, IsTheSameByteForByte) {
  const Input in = named_input();
  EXPECT_EQ(page_of(in), page_of(in));
}

TEST(Report, StaysUnderItsLimitByMergingAndSaysSo) {
  const Input in = named_input(8, 20'000);
  const std::string whole = page_of(in);
  EXPECT_FALSE(has(whole, "steps merged per cell"));
  const std::string small = page_of(in, {.size_limit = Bytes{400'000}});
  EXPECT_LE(small.size(), 400'000U);
  EXPECT_TRUE(std::regex_search(small, std::regex("[0-9]+ steps merged per cell")));
}

TEST(Report, AMillionEventsFitInto15Megabytes) {
  Input in;
  in.run = test::make_run({.ranks = 64, .steps = 15'625, .jitter = 2ms, .step_marks = false});
  ASSERT_EQ(in.run.event_count(), 1'000'000U);
  in.diagnosis.wait_method = diagnose::WaitMethod::Clock;
  const auto page = render_html(in.run, *diagnose::match_run(in.run), in.diagnosis);
  ASSERT_TRUE(page.has_value());
  EXPECT_LE(page->size(), 15'000'000U);
  EXPECT_FALSE(has(*page, "steps merged per cell"));
}

TEST(Report, RefusesAnEmptyRun) {
  const trace::Run run;
  const auto none = render_html(run, *diagnose::match_run(run), {});
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().id, "report-001");
  EXPECT_EQ(none.error().code, Errc::InvalidInput);
}

// A job that failed before its ranks met.
TEST(Report, DrawsRanksOfWhichNothingWasRecorded) {
  Input in;
  in.run = test::make_run({.ranks = 2, .steps = 3});
  for (trace::RankTrack& track : in.run.ranks) {
    trace::RankTrack bare;
    bare.rank = track.rank;
    bare.node = track.node;
    track = std::move(bare);
  }
  ASSERT_EQ(in.run.event_count(), 0U);
  const std::string page = page_of(in);
  EXPECT_TRUE(has(page, "No event was recorded"));
  EXPECT_TRUE(has(page, "no step was found"));
  EXPECT_TRUE(has(page, "no collective call was recorded"));
  EXPECT_FALSE(has(page, "100 %"));
}

TEST(Report, DrawsOneRankWithoutSteps) {
  Input in;
  in.run = test::make_run({.ranks = 1, .steps = 3});
  in.diagnosis.wait_method = diagnose::WaitMethod::Clock;
  EXPECT_TRUE(has(page_of(in), "No steps were found"));
}

}  // namespace
}  // namespace cox::report
