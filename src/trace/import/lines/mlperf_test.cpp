// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "trace/import/part/reader.hpp"

namespace cox::trace {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class Mlperf : public ::testing::Test {
 protected:
  fs::path folder_ = fs::path(::testing::TempDir()) / ("mlperf_" + std::to_string(::getpid()));
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  Result<ImportedJob> try_read(const std::string& text) {
    std::ofstream(folder_ / "r.txt", std::ios::binary) << text;
    return kMlperfReader.read(folder_ / "r.txt", {.threads = 1, .progress = {}});
  }
};

std::string line(std::int64_t at_ms, const std::string& key, const std::string& value = "null",
                 const std::string& metadata = "{}") {
  return fmt::format(
      R"(:::MLLOG {{"namespace": "", "time_ms": {}, "event_type": "POINT_IN_TIME", "key": "{}", "value": {}, "metadata": {}}})"
      "\n",
      at_ms, key, value, metadata);
}

bool has_note(const Run& run, const std::string& part) {
  return std::any_of(run.notes.begin(), run.notes.end(),
                     [&](const Note& n) { return n.text.find(part) != std::string::npos; });
}

/// Own work of each step of the one series.
std::vector<Duration> steps_of(const Run& run) {
  std::vector<Duration> out;
  const EventColumns& e = run.ranks.at(0).events;
  for (std::size_t i = 0; i + 1 < e.size(); i += 2) out.push_back(e.begin[i + 1] - e.begin[i]);
  return out;
}

TEST_F(Mlperf, BlocksAreStepsWithoutEvaluationAndGapsAreTold) {
  std::string log = "Clearing cache on host\n" + line(1000, "cache_clear") + "0: " + line(2000, "run_start");
  std::int64_t at = 2000;
  for (int block = 0; block < 4; ++block) {
    log += "0: " + line(at, "block_start");
    log += "1: " + line(at, "block_start");
    log += "0: " + line(at += 500, "block_stop");
    log += "0: " + line(at, "eval_start");
    log += "0: " + line(at += 100, "eval_stop");
    at += block == 2 ? 250 : 10;
  }
  log += "0: " + line(at, "run_stop", "null", R"({"status": "SUCCESS"})");
  EXPECT_TRUE(kMlperfReader.recognises({.path = "r", .bytes = log}));
  const auto job = try_read(log);
  ASSERT_TRUE(job) << job.error().message;
  const trace::Run& run = job->run;
  EXPECT_EQ(run.times, TimesKind::Steps);
  EXPECT_EQ(run.ranks.size(), 1U);
  EXPECT_EQ(steps_of(run), (std::vector<Duration>{510ms, 510ms, 750ms, 500ms}));
  EXPECT_TRUE(
      has_note(run, "between 4 blocks, without evaluation: median 10.0 ms, longest 250 ms, after block 2"));
  EXPECT_TRUE(has_note(run, "no rank can be named"));
  EXPECT_TRUE(has_note(run, "4 lines have another label"));
  EXPECT_FALSE(has_note(run, "no run_stop"));
  EXPECT_EQ(run.info.logged_end, "");
}

TEST_F(Mlperf, StepTimesAreTakenInTheUnitThatTheClockSays) {
  std::string seconds = line(0, "run_start"), millis = seconds, neither = seconds;
  for (int i = 1; i <= 5; ++i) {
    seconds +=
        line(std::int64_t{11000} * i, "tracked_stats", R"({"train_step_time": 11.0, "throughput": 5})");
    millis += line(std::int64_t{11000} * i, "tracked_stats", R"({"train_step_time": 11000.0})");
    neither += line(std::int64_t{11000} * i, "tracked_stats", R"({"train_step_time": 1.1e9})");
  }
  for (const std::string& log : {seconds, millis}) {
    const auto job = try_read(log);
    ASSERT_TRUE(job) << job.error().message;
    EXPECT_EQ(steps_of(job->run), std::vector<Duration>(5, 11s));
    EXPECT_TRUE(has_note(job->run, "as the log's clock says"));
    EXPECT_TRUE(has_note(job->run, "no run_stop"));
  }
  EXPECT_FALSE(try_read(neither));
}

TEST_F(Mlperf, SeveralRunsOfALogAreRunsOfTheirOwn) {
  std::string log;
  for (int run = 0; run < 3; ++run) {
    log += line(std::int64_t{run} * 100'000, "run_start");
    for (int i = 0; i < 3; ++i)
      log +=
          line(run * 100'000 + i * 1000, "epoch_start") + line(run * 100'000 + i * 1000 + 900, "epoch_stop");
    log += line(run * 100'000 + 5000, "run_stop", "null", R"({"status": "aborted"})");
  }
  const auto job = try_read(log);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->further_runs.size(), 2U);
  EXPECT_TRUE(has_note(job->further_runs[1], "the run ended with status \"aborted\""));
  EXPECT_EQ(job->further_runs[1].info.logged_end, "aborted");
}

TEST_F(Mlperf, ABlockWithoutItsStartIsMissingAndMakesNoLongStep) {
  std::string log = line(0, "run_start");
  for (int block = 0; block < 8; ++block) {
    if (block != 4) log += line(block * 1000, "block_start");
    log += line(block * 1000 + 990, "block_stop") + line(block * 1000 + 993, "block_stop");  // of two ranks
  }
  const auto job = try_read(log + line(8000, "run_stop"));
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(steps_of(job->run), (std::vector<Duration>{1s, 1s, 1s, 990ms, 1s, 1s, 990ms}));
  EXPECT_TRUE(has_note(job->run, "1 block_stop has no block_start: that step is missing"));
  EXPECT_TRUE(has_note(job->run, "longest 10.0 ms")) << "the block is no gap";
}

TEST_F(Mlperf, AByteOrderMarkIsNoLabel) {
  std::string log = "\xef\xbb\xbf";
  for (int block = 0; block < 4; ++block)
    log += line(block * 1000, "block_start") + line(block * 1000 + 1000, "block_stop");
  EXPECT_TRUE(kMlperfReader.recognises({.path = "r", .bytes = log}));
  const auto job = try_read(log);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(steps_of(job->run), std::vector<Duration>(4, 1s));
}

TEST_F(Mlperf, DamagedLogsAreRefusedWithALine) {
  for (const std::string& log :
       {line(0, "run_start"), std::string(":::MLLOG {\"time_ms\": 12, \"key\""), std::string(":::MLLOG {}\n"),
        line(-5, "block_start"), line(0, "block_start") + line(5, "block_stop")}) {
    const auto job = try_read(log);
    ASSERT_FALSE(job) << log;
    EXPECT_EQ(job.error().id, "import-005");
  }
}

}  // namespace
}  // namespace cox::trace
