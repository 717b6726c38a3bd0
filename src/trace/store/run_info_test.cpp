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
  EXPECT_EQ(parse_run_info(format_run_info(info))->launch, "slurm 77.0");
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

}  // namespace
}  // namespace cox::trace
