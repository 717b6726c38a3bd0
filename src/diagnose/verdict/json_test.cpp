// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <type_traits>

#include <nlohmann/json.hpp>

#include "cox/diagnose/brief.hpp"
#include "cox/diagnose/diagnosis.hpp"

#include "diagnose/match/synthetic_job.hpp"

namespace cox::diagnose {
namespace {

using namespace std::chrono_literals;

TEST(DiagnosisJson, HoldsTheFixedFields) {
  testing::Job job;
  job.work = [](int r, int s) { return testing::lognormal_work(1, r, s, 10ms, 0.03) + (r == 3 ? 3ms : 0ms); };
  trace::Run run = testing::make_job(job);
  run.notes.push_back({"rank-9.coxraw", "cut at byte 17"});
  const auto d = diagnose(run);
  ASSERT_TRUE(d.has_value());
  const auto j = nlohmann::ordered_json::parse(to_json(*d, run, "demo-out/run"));
  std::vector<std::string> keys;
  for (const auto& [key, value] : j.items()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"schema", "tool", "inputs", "result", "warnings"}));
  EXPECT_EQ(j["schema"], "cox.diagnose/1");
  EXPECT_EQ(j["inputs"][0], "demo-out/run");
  EXPECT_EQ(j["warnings"][0], "rank-9.coxraw: cut at byte 17");
  const auto& result = j["result"];
  EXPECT_EQ(result["coverage"], 1.0);
  ASSERT_EQ(result["findings"].size(), 1U);
  const auto& f = result["findings"][0];
  keys.clear();
  for (const auto& [key, value] : f.items()) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"kind", "ranks", "rank", "group", "link", "cause", "share_ratio",
                                            "gain_ratio", "gain_doubt", "first_step", "last_step", "evidence",
                                            "cause_class", "failure_mode", "cause_tests", "positions",
                                            "gain_at_most_ratio", "pauses"}));
  EXPECT_EQ(f["kind"], "slow_rank");
  EXPECT_EQ(f["rank"], 3);
  EXPECT_TRUE(f["group"].is_null());
  EXPECT_TRUE(f["first_step"].is_null());
  EXPECT_EQ(f["evidence"][0]["key"], "self_delay_median_s");
  EXPECT_NEAR(f["evidence"][0]["value"].get<double>(), 0.003, 0.0005);
  EXPECT_EQ(result["communicators"][0]["bytes"], 100'000'000);
  EXPECT_EQ(result["steps"]["count"], 100);
  EXPECT_EQ(result["clock"]["comparable"], true);
}

TEST(DiagnosisJson, CoverageSaysWhereRecordingEndedEarly) {
  trace::Run run = testing::make_job({});
  EXPECT_EQ(brief_of(*diagnose(run)).coverage.find("ended early"), std::string::npos);
  run.ranks[1].state = trace::WriterState::Disabled;
  const auto d = diagnose(run);
  EXPECT_EQ(d->coverage.stopped_ranks, 1);
  EXPECT_NE(brief_of(*d).coverage.find("; until recording ended early on 1 rank"), std::string::npos);
  const auto j = nlohmann::ordered_json::parse(to_json(*d, run, "run"));
  EXPECT_EQ(j["result"]["coverage_detail"]["stopped_ranks"], 1);
}

TEST(DiagnosisJson, WhatIsNotANumberIsNull) {
  Diagnosis d;
  d.coverage.ratio = std::nan("");
  Finding f;
  f.gain_ratio = std::numeric_limits<double>::infinity();
  OperationFinding slow;
  slow.cause = OperationCause::Communication;
  slow.slowdown = std::nan("");
  slow.slowest_type = "not utf-8: \xff";
  f.evidence = OperationEvidence{slow, 0.01};
  d.findings.push_back(f);
  const std::string text = to_json(d, trace::Run{}, "x");
  const auto j = nlohmann::json::parse(text);
  EXPECT_TRUE(j["result"]["coverage"].is_null());
  EXPECT_TRUE(j["result"]["findings"][0]["gain_ratio"].is_null());
  EXPECT_TRUE(j["result"]["findings"][0]["evidence"][0]["value"].is_null());
  EXPECT_EQ(j["result"]["findings"][0]["evidence"][1]["value"], 0.01);
}

// A text as a key could be misspelt where it is compared, and its section would be left out without a word.
TEST(DiagnosisSections, AreKnownByAnEnumerationWithANameEach) {
  static_assert(std::is_enum_v<decltype(Section::kind)>);
  std::set<std::string> names;
  for (int k = 0; k <= static_cast<int>(SectionKind::Pacing); ++k)
    names.insert(name_of(static_cast<SectionKind>(k)));
  EXPECT_EQ(names, (std::set<std::string>{"attribution", "efficiencies", "fabric", "graph_path", "operations",
                                          "pacing", "presence", "present", "time_structure", "what_if",
                                          "what_if_operations"}));
}

TEST(DiagnosisJson, PartsOfTheFabricAreJoinedOnlyThere) {
  Finding f;
  EXPECT_EQ(component_words(f), "");
  f.components = {"host a, the first", "rail 2 (port 2 of all hosts)"};
  EXPECT_EQ(component_words(f), "host a, the first, rail 2 (port 2 of all hosts)");
  EXPECT_EQ(f.components.size(), 2U);
}

}  // namespace
}  // namespace cox::diagnose
