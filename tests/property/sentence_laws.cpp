// SPDX-License-Identifier: Apache-2.0
// Whatever the input: no sentence holds a number that cannot be, and the first answer fits a screen.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "cox/trace/import.hpp"
#include "cox/trace/read.hpp"

#include "diagnose/match/synthetic_job.hpp"
#include "fuzz/said.hpp"
#include "support/make_run.hpp"
#include "support/test_data.hpp"

namespace cox::diagnose {
namespace {

using namespace std::chrono_literals;

/// Empty, or what is absurd in what is said of a Run.
std::string absurd(const trace::Run& run, const model::Program* program = nullptr) {
  const auto d = diagnose(run, {.program = program});
  if (!d) return {};
  std::string text;
  for (const std::string& line : fuzz::absurdities(run, *d)) text += line + '\n';
  return text;
}

TEST(SentenceLaws, SeeWhatIsAbsurd) {
  for (const char* bad : {"lost to late arrivals 5.00 s of 2.00 s (250 %)", "41 of 40 steps are long",
                          "x1.000 (0.000 to 0.015)", "3 of 2 ranks", "gain nan %",
                          "1 operations of which a member's call is missing", "12 % shorter (13 % to 15 %)"})
    EXPECT_NE(fuzz::absurdity(bad), "") << bad;
  for (const char* good :
       {"slower by 12559 %", "40 of 40 operations seen on every member", "21 % shorter (20 % to 22 %)",
        "x1.261 (1.258 to 1.265)", "it ran 130 % as many kernels",
        "step time 14.0 ms median, 13.8 ms to 14.1 ms", "1 440 of 1 440 operations", "11 operations",
        "ratio 1.2000 (95 % of resamplings: 1.1000 to 1.3000)"})
    EXPECT_EQ(fuzz::absurdity(good), "") << good;
}

RC_GTEST_PROP(SentenceLaws, HoldForAnySyntheticRun, ()) {
  test::RunShape shape;
  shape.ranks = *rc::gen::inRange(1, 12);
  shape.steps = *rc::gen::inRange(1, 60);
  shape.collectives = *rc::gen::inRange(1, 4);
  shape.nodes = *rc::gen::inRange(1, std::min(3, shape.ranks) + 1);
  shape.work = std::chrono::microseconds{*rc::gen::inRange(0, 20'000)};
  shape.jitter = std::chrono::microseconds{*rc::gen::inRange(0, 5'000)};
  shape.transfer = std::chrono::microseconds{*rc::gen::inRange(0, 3'000)};
  shape.step_marks = *rc::gen::arbitrary<bool>();
  shape.seed = *rc::gen::inRange<std::uint64_t>(1, 1'000'000);
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i)
    shape.extras.push_back({.rank = *rc::gen::inRange(0, shape.ranks),
                            .amount = std::chrono::microseconds{*rc::gen::inRange(0, 50'000)},
                            .first_step = *rc::gen::inRange(0, shape.steps),
                            .rotate_every = *rc::gen::inRange(0, 4)});
  trace::Run run = test::make_run(shape);
  if (*rc::gen::arbitrary<bool>() && run.ranks.size() > 1)  // a rank of which nothing was found
    run.ranks.erase(run.ranks.begin() + *rc::gen::inRange(0, static_cast<int>(run.ranks.size())));
  if (*rc::gen::inRange(0, 4) == 0) run.info.exit_status = *rc::gen::inRange(1, 256);
  RC_ASSERT(absurd(run) == "");
}

RC_GTEST_PROP(SentenceLaws, HoldForJobsOfTwoHostsAndWorkerThreads, ()) {
  testing::Job job;
  job.ranks = *rc::gen::inRange(2, 10);
  job.steps = *rc::gen::inRange(1, 50);
  job.calls_per_step = *rc::gen::inRange(1, 4);
  job.nodes = *rc::gen::inRange(1, 3);
  job.ddp = *rc::gen::arbitrary<bool>();
  job.marks = *rc::gen::arbitrary<bool>();
  const int slow = *rc::gen::inRange(0, job.ranks);
  const auto extra = std::chrono::milliseconds{*rc::gen::inRange(0, 40)};
  const int every = *rc::gen::inRange(1, 12);
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1'000'000);
  const double spread = 0.01 * *rc::gen::inRange(0, 80);
  job.work = [=](int r, int s) {
    return testing::lognormal_work(seed, r, s, 10ms, spread) +
           (r == slow && s % every == 0 ? Duration{extra} : Duration{});
  };
  RC_ASSERT(absurd(testing::make_job(job)) == "");
}

RC_GTEST_PROP(SentenceLaws, HoldForFilesThatWereCut, ()) {
  const trace::Run whole = test::make_run({.ranks = 3,
                                           .steps = 60,
                                           .seed = *rc::gen::inRange<std::uint64_t>(1, 1000),
                                           .extras = {{.rank = 1, .amount = 4ms}}});
  const test::ScratchDir dir;
  RC_ASSERT(test::write_raw_files(whole, dir.path() / "run"));
  for (const auto& entry : std::filesystem::directory_iterator(dir.path() / "run")) {
    const auto size = static_cast<int>(std::filesystem::file_size(entry.path()));
    if (*rc::gen::arbitrary<bool>())
      std::filesystem::resize_file(entry.path(),
                                   static_cast<std::uintmax_t>(*rc::gen::inRange(4096, size + 1)));
  }
  const auto read = trace::import_path(dir.path() / "run", {});
  if (!read) return;
  for (const trace::ImportedJob& job : read->jobs) RC_ASSERT(absurd(job.run, &job.program) == "");
}

/// Every run of every input below a folder, each file and each folder by itself.
void expect_sense(const std::filesystem::path& root) {
  constexpr std::uintmax_t kMostBytes = 20'000'000;  // of a file by itself: the rest is read with its folder
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.is_regular_file() && entry.file_size() > kMostBytes) continue;
    const auto read = trace::import_path(entry.path(), {});
    if (!read) continue;
    for (const trace::ImportedJob& job : read->jobs)
      EXPECT_EQ(absurd(job.run, &job.program), "") << entry.path() << ": " << job.run.info.name;
  }
}

TEST(SentenceLaws, HoldForTheDataOfTheTests) {
  expect_sense(COX_TESTS_DATA);
}

TEST(SentenceLaws, HoldForRecordedTraces) {
  COX_NEED_DATA(traces, "traces");
  expect_sense(traces);
}

}  // namespace
}  // namespace cox::diagnose
