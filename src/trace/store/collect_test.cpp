// SPDX-License-Identifier: Apache-2.0
#include "cox/trace/collect.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "cox/trace/compact.hpp"
#include "cox/trace/read.hpp"
#include "cox/trace/run_info.hpp"

#include "support/make_run.hpp"

namespace cox::trace {
namespace {

namespace fs = std::filesystem;
using test::ScratchDir;

/// Two hosts' folders of one job: even ranks raw in `a`, odd ones compacted in `b`.
void split_job(const trace::Run& run, const fs::path& dir) {
  fs::create_directory(dir / "a");
  fs::create_directory(dir / "b");
  for (const RankTrack& t : run.ranks)
    test::put_file(dir / (t.rank.value() % 2 == 0 ? "a" : "b") / (std::to_string(t.rank.value()) + ".coxraw"),
                   test::raw_file(run, t));
  ASSERT_TRUE(compact_run(dir / "b"));
}

std::vector<std::string> names_in(const fs::path& dir) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(dir)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(CollectRuns, PutsTheHostsOfAJobTogether) {
  const ScratchDir dir;
  const trace::Run run = test::make_run({.ranks = 4, .steps = 10, .nodes = 2});
  split_job(run, dir.path());
  const auto before = names_in(dir.path() / "a");
  const auto report = collect_runs({dir.path() / "a", dir.path() / "b"}, dir.path() / "run");
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(report->processes, 4);
  EXPECT_EQ(report->repeated, 0);
  EXPECT_EQ(report->kept_raw, 0);
  EXPECT_GT(report->bytes, Bytes{0});
  EXPECT_TRUE(report->notes.empty());
  const auto back = open_run(dir.path() / "run");
  ASSERT_TRUE(back);
  EXPECT_EQ(back->ranks.size(), 4U);
  EXPECT_EQ(back->event_count(), run.event_count());
  EXPECT_EQ(names_in(dir.path() / "run"), (std::vector<std::string>{"0.cox", "1.cox", "2.cox", "3.cox"}));
  EXPECT_EQ(names_in(dir.path() / "a"), before) << "the inputs stay";
  EXPECT_EQ(names_in(dir.path()), (std::vector<std::string>{"a", "b", "run"}))
      << "nothing unfinished is left";
}

TEST(CollectRuns, TakesSingleFiles) {
  const ScratchDir dir;
  split_job(test::make_run({.ranks = 4, .steps = 3}), dir.path());
  const auto report =
      collect_runs({dir.path() / "a" / "2.coxraw", dir.path() / "b" / "1.cox"}, dir.path() / "run");
  ASSERT_TRUE(report);
  EXPECT_EQ(names_in(dir.path() / "run"), (std::vector<std::string>{"1.cox", "2.cox"}));
}

TEST(CollectRuns, TheSameFileTwiceIsTakenOnce) {
  const ScratchDir dir;
  split_job(test::make_run({.ranks = 2, .steps = 3}), dir.path());
  const auto report = collect_runs({dir.path() / "a", dir.path() / "a"}, dir.path() / "run");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->processes, 1);
  EXPECT_EQ(report->repeated, 1);
}

TEST(CollectRuns, OneNameAndTwoContentsAreBothKept) {
  const ScratchDir dir;
  const trace::Run run = test::make_run({.ranks = 2, .steps = 3});
  for (const char* host : {"a", "b"}) fs::create_directory(dir.path() / host);
  test::put_file(dir.path() / "a" / "p.coxraw", test::raw_file(run, run.ranks[0]));
  test::put_file(dir.path() / "b" / "p.coxraw", test::raw_file(run, run.ranks[1]));
  const auto report = collect_runs({dir.path() / "a", dir.path() / "b"}, dir.path() / "run");
  ASSERT_TRUE(report);
  EXPECT_EQ(names_in(dir.path() / "run"), (std::vector<std::string>{"p-2.cox", "p.cox"}));
  ASSERT_EQ(report->notes.size(), 1U);
  EXPECT_EQ(open_run(dir.path() / "run")->ranks.size(), 2U);
}

TEST(CollectRuns, DamagedFilesGoAlongUntouched) {
  const ScratchDir dir;
  const trace::Run run = test::make_run({.ranks = 2, .steps = 200});
  fs::create_directory(dir.path() / "a");
  const std::string whole = test::raw_file(run, run.ranks[0]);
  const std::string cut = test::raw_file(run, run.ranks[1]).substr(0, 9000);
  test::put_file(dir.path() / "a" / "0.coxraw", whole);
  test::put_file(dir.path() / "a" / "1.coxraw", cut);
  const auto report = collect_runs({dir.path() / "a"}, dir.path() / "run");
  ASSERT_TRUE(report);
  EXPECT_EQ(report->kept_raw, 1);
  EXPECT_FALSE(report->notes.empty());
  EXPECT_EQ(test::file_content(dir.path() / "run" / "1.coxraw"), cut);
}

TEST(CollectRuns, NothingIsReplacedOrAddedTo) {
  const ScratchDir dir;
  split_job(test::make_run({.ranks = 2, .steps = 3}), dir.path());
  fs::create_directory(dir.path() / "there");
  test::put_file(dir.path() / "there" / "thesis.tex", "precious");
  const auto refused = collect_runs({dir.path() / "a"}, dir.path() / "there");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().id, "base-005");
  EXPECT_EQ(names_in(dir.path() / "there"), std::vector<std::string>{"thesis.tex"});
  EXPECT_FALSE(collect_runs({dir.path() / "a"}, dir.path() / "a")) << "an input as the result";
  fs::create_directory(dir.path() / "empty");
  EXPECT_TRUE(collect_runs({dir.path() / "a"}, dir.path() / "empty" / ""));
}

TEST(CollectRuns, AnInputWithoutARunIsAnErrorAndLeavesNothing) {
  const ScratchDir dir;
  split_job(test::make_run({.ranks = 2, .steps = 3}), dir.path());
  fs::create_directory(dir.path() / "none");
  const auto empty = collect_runs({dir.path() / "a", dir.path() / "none"}, dir.path() / "run");
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().id, "trace-002");
  const auto missing = collect_runs({dir.path() / "a", dir.path() / "missing"}, dir.path() / "run");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().id, "trace-001");
  EXPECT_EQ(names_in(dir.path()), (std::vector<std::string>{"a", "b", "none"}));
  EXPECT_FALSE(collect_runs({dir.path() / "a"}, dir.path() / "no" / "such" / "folder"));
}

TEST(CollectRuns, RunJsonIsWhatTheInputsAgreeOn) {
  const ScratchDir dir;
  split_job(test::make_run({.ranks = 2, .steps = 3}), dir.path());
  RunInfo info{
      .name = "a", .command = "./train", .tool = "cox", .started = "2026-01-02T00:00:01Z", .job = "77"};
  info.exit_status = 0;
  ASSERT_TRUE(write_run_info(dir.path() / "a", info));
  info.started = "2026-01-02T00:00:00Z";
  info.exit_status = 9;
  ASSERT_TRUE(write_run_info(dir.path() / "b", info));
  const auto report = collect_runs({dir.path() / "a", dir.path() / "b"}, dir.path() / "run");
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->notes.empty());
  const auto merged = read_run_info(dir.path() / "run");
  ASSERT_TRUE(merged && *merged);
  EXPECT_EQ((*merged)->name, "run");
  EXPECT_EQ((*merged)->command, "./train");
  EXPECT_EQ((*merged)->started, "2026-01-02T00:00:00Z") << "the first of them";
  EXPECT_EQ((*merged)->exit_status, 9) << "a failure anywhere is the job's";

  info.job = "78";
  ASSERT_TRUE(write_run_info(dir.path() / "b", info));
  const auto two = collect_runs({dir.path() / "a", dir.path() / "b"}, dir.path() / "two");
  ASSERT_TRUE(two);
  ASSERT_EQ(two->notes.size(), 1U);
  EXPECT_NE(two->notes[0].text.find("are they of one job?"), std::string::npos);
}

}  // namespace
}  // namespace cox::trace
