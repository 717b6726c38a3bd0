// SPDX-License-Identifier: Apache-2.0
#include "cox/trace/run_info.hpp"

#include <gtest/gtest.h>

#include "support/make_run.hpp"
#include "trace/store/run_info_json.hpp"

namespace cox::trace {
namespace {

RunInfo sample() {
  return {.name = "run",
          .command = "mpirun -n 4 'a b'",
          .tool = "cox 0.1.0",
          .started = "2026-01-02T03:04:05Z",
          .job = "77",
          .exit_status = 3,
          .provenance = Provenance::Imported};
}

TEST(RunInfo, WritesTheDocumentedForm) {
  EXPECT_EQ(format_run_info(sample()), R"({
  "format": "cox.run/1",
  "name": "run",
  "command": "mpirun -n 4 'a b'",
  "tool": "cox 0.1.0",
  "started": "2026-01-02T03:04:05Z",
  "job": "77",
  "provenance": "imported",
  "exit_status": 3
}
)");
}

TEST(RunInfo, ReadsBackAsItWas) {
  const test::ScratchDir dir;
  ASSERT_TRUE(write_run_info(dir.path(), {}));
  ASSERT_TRUE(write_run_info(dir.path(), sample()));  // replaces
  const auto back = read_run_info(dir.path());
  ASSERT_TRUE(back && *back);
  EXPECT_EQ(format_run_info(**back), format_run_info(sample()));
}

TEST(RunInfo, UnknownExitStatusIsNull) {
  RunInfo info;
  EXPECT_NE(format_run_info(info).find("\"exit_status\": null"), std::string::npos);
  EXPECT_EQ(parse_run_info(format_run_info(info))->exit_status, -1);
}

TEST(RunInfo, TheLaunchIsKeptWhereThereIsOne) {
  RunInfo info = sample();
  EXPECT_EQ(format_run_info(info).find("launch"), std::string::npos);
  info.launch = "slurm 77.0";
  info.logged_end = "aborted";
  EXPECT_EQ(parse_run_info(format_run_info(info))->launch, "slurm 77.0");
  EXPECT_EQ(parse_run_info(format_run_info(info))->logged_end, "aborted");
  info.logged_end.assign(65, 'x');
  EXPECT_EQ(parse_run_info(format_run_info(info))->logged_end, "") << "no word of a log is so long";
}

TEST(RunInfo, OneOfManyWritersMakesIt) {
  const test::ScratchDir dir;
  ASSERT_TRUE(create_run_info(dir.path(), sample()));
  const Status second = create_run_info(dir.path(), {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().id, "base-005");
  EXPECT_EQ((*read_run_info(dir.path()))->command, sample().command);
}

TEST(RunInfo, AbsenceIsNoError) {
  const test::ScratchDir dir;
  const auto none = read_run_info(dir.path());
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
}

TEST(RunInfo, WhatCannotBeLookedAtIsNoAbsence) {
  const test::ScratchDir dir;
  std::filesystem::create_symlink("circle", dir.path() / "circle");
  const auto info = read_run_info(dir.path() / "circle");
  ASSERT_FALSE(info);
  EXPECT_EQ(info.error().id, "base-002");
}

TEST(RunInfo, CommandLinesNeedNotBeUtf8) {
  RunInfo info = sample();
  info.command = "train \xff\xfe";
  EXPECT_TRUE(parse_run_info(format_run_info(info)));
}

TEST(RunInfo, OddFieldsKeepTheirDefaults) {
  const auto info =
      parse_run_info(R"({"format": "cox.run/1", "name": 7, "exit_status": 1e99, "later": [1, {"x": 2}]})");
  ASSERT_TRUE(info);
  EXPECT_EQ(info->name, "");
  EXPECT_EQ(info->exit_status, -1);
}

TEST(RunInfo, RefusesTheRest) {
  for (const char* text :
       {"", "{", "[]", "null", "{}", R"({"format": 1})", R"({"format": "cox.run/2"})", "\xff"}) {
    const auto info = parse_run_info(text);
    ASSERT_FALSE(info) << text;
    EXPECT_EQ(info.error().id, "trace-004") << text;
  }
  EXPECT_EQ(parse_run_info(std::string(2'000'000, ' ')).error().id, "trace-004");
  EXPECT_EQ(parse_run_info(std::string(900'000, '[')).error().id, "trace-004");
  const test::ScratchDir dir;
  std::filesystem::create_directory(dir.path() / "run.json");
  const auto folder = read_run_info(dir.path());
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().id, "trace-004");
  EXPECT_NE(folder.error().to_string().find("run.json"), std::string::npos);
}

TEST(RunInfo, ASignalAndWhatWasRedactedAreKept) {
  RunInfo info = sample();
  EXPECT_EQ(format_run_info(info).find("signal"), std::string::npos);
  EXPECT_EQ(format_run_info(info).find("redacted"), std::string::npos);
  info.signal = 9;
  info.told = 15;
  info.redacted = 2;
  const auto back = parse_run_info(format_run_info(info));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->signal, 9);
  EXPECT_EQ(back->told, 15);
  EXPECT_EQ(back->redacted, 2);
}

TEST(RunInfo, RanksThatFailedAreAddedInOrderOfTime) {
  const test::ScratchDir dir;
  RunInfo info = sample();
  info.exit_status = -1;
  ASSERT_TRUE(write_run_info(dir.path(), info, Rights::Owner));
  const RankEnd later{.rank = 0, .exit_status = 143, .signal = 15, .realtime_ns = 2'000};
  const RankEnd first{.rank = 3, .exit_status = 7, .signal = 0, .realtime_ns = 1'000};
  ASSERT_TRUE(append_rank_end(dir.path(), later, Rights::Owner));
  ASSERT_TRUE(append_rank_end(dir.path(), first, Rights::Owner));
  const auto back = read_run_info(dir.path());
  ASSERT_TRUE(back && *back);
  EXPECT_EQ((*back)->ends, (std::vector<RankEnd>{first, later}));
  EXPECT_EQ((*back)->exit_status, 7) << "a failure of any rank is the job's";
}

TEST(RunInfo, LinesOfEndsThatAreCutOrNoneAreLeftOut) {
  const auto ends = parse_rank_ends(
      "1 9 0 55\n2 9 0\nhello\n-1 9 0 55\n3 0 0 55\n4 9 0 55 x\n5 137 9 66\n6 -1 0 77\n7 -2 0 78\n8 -3 0 79");
  ASSERT_EQ(ends.size(), 4u);
  EXPECT_EQ(ends[0].rank, 1);
  EXPECT_EQ(ends[1].rank, 5);
  EXPECT_EQ(ends[2].exit_status, RankEnd::kCutOff);
  EXPECT_EQ(ends[3].exit_status, RankEnd::kInOrder);
}

}  // namespace
}  // namespace cox::trace
