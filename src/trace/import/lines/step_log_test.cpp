// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "trace/import/part/reader.hpp"

namespace cox::trace {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class StepLog : public ::testing::Test {
 protected:
  fs::path folder_ = fs::path(::testing::TempDir()) / ("step_log_" + std::to_string(::getpid()));
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path put(const std::string& text) const {
    std::ofstream(folder_ / "r.txt", std::ios::binary) << text;
    return folder_ / "r.txt";
  }
  bool recognises(const std::string& text) const {
    const fs::path path = put(text);
    return kStepLogReader.recognises({.path = path, .bytes = std::string_view(text).substr(0, kHeadBytes)});
  }
  trace::Run read(const std::string& text) const {
    EXPECT_TRUE(recognises(text)) << text;
    Result<trace::Run> run = read_run(kStepLogReader, put(text), {.threads = 1, .progress = {}});
    return run ? *std::move(run) : trace::Run{};
  }
};

/// Lines of three steps.
std::string log_of(const std::function<std::string(int, int)>& line) {
  std::string text = "building the model\n";
  for (int i = 1; i <= 3; ++i) text += line(i, 100 + i) + "\n";
  return text;
}

/// Own work of each step of the one series.
std::vector<Duration> steps_of(const Run& run) {
  std::vector<Duration> out;
  const EventColumns& e = run.ranks.at(0).events;
  for (std::size_t i = 0; i + 1 < e.size(); i += 2) out.push_back(e.begin[i + 1] - e.begin[i]);
  return out;
}

std::string notes_of(const Run& run) {
  std::string all;
  for (const Note& n : run.notes) all += n.text + "\n";
  return all;
}

// Forms as the programs print them: Megatron-LM (newer, older, with a mean beside), DeepSpeed, NeMo, MaxText, nanoGPT, llm.c.
TEST_F(StepLog, TrainersPrintTheirStepsInManyWays) {
  const std::function<std::string(int, int)> forms[] = {
      [](int i, int ms) {
        return fmt::format(
            " [2026-11-28 10:00:0{0}] iteration {0:8d}/  500000 | consumed samples: {0:12d} | elapsed time per iteration (ms): {1:.1f} | learning rate: 6.0E-05 | number of nan iterations:   0 |",
            i, ms * 1.0);
      },
      [](int i, int ms) {
        return fmt::format(
            " iteration {:8d}/{:8d} | elapsed time per iteration (ms): {}.0/103.5 | lm loss: 1 |", i, 500,
            ms);
      },
      [](int i, int ms) {
        return fmt::format("[default3]: iteration {}/50 | elapsed time per iteration (ms): {} |", i, ms);
      },
      [](int i, int ms) {
        return fmt::format("steps: {} loss: 8.1234 iter time (s): 0.{} samples/sec: 25.9", i, ms);
      },
      [](int i, int ms) {
        return fmt::format(
            "Epoch 0: 1%| 3/500 reduced_train_loss=10.2, global_step={}.0, train_step_timing in s=0.{}]", i,
            ms);
      },
      [](int i, int ms) {
        return fmt::format("completed step: {}, seconds: 0.{}, TFLOP/s/device: 180.1, loss: 9.9", i, ms);
      },
      [](int i, int ms) { return fmt::format("iter {}: loss 3.2112, time {}.00ms, mfu 30.11%", i, ms); },
      [](int i, int ms) {
        return fmt::format(
            "step {:4d}/19560 | loss 4.1 (+0.3z)| norm 1.2 (+0.1z)| lr 1e-4 | {}.00 ms | 50.1% bf16 MFU | 935000 tok/s",
            i, ms);
      },
      [](int i, int ms) { return fmt::format("INFO step={} step_time={}ms", i, ms); }};
  for (const auto& form : forms) {
    const trace::Run run = read(log_of(form));
    ASSERT_EQ(run.ranks.size(), 1U) << form(1, 101);
    EXPECT_EQ(steps_of(run), (std::vector<Duration>{101ms, 102ms, 103ms})) << form(1, 101);
    EXPECT_THAT(notes_of(run), testing::HasSubstr("no rank can be named"));
  }
}

TEST_F(StepLog, WhatIsNoTimeOfAStepIsNotTakenForOne) {
  for (const auto& line : std::initializer_list<std::function<std::string(int, int)>>{
           [](int i, int ms) { return fmt::format("step {}: data time {}ms", i, ms); },
           [](int i, int ms) { return fmt::format("step {}: average step_time {}ms", i, ms); },
           [](int i, int ms) { return fmt::format("step {} time {}", i, ms); },
           [](int i, int ms) { return fmt::format("step {} step_time={} samples/s", i, ms); },
           [](int i, int ms) { return fmt::format("stepped {} time {}ms", i, ms); },
           [](int, int ms) { return fmt::format("time {}ms", ms); },
           [](int i, int) { return fmt::format("step {} step_time=-3ms, step time nan ms", i); }})
    EXPECT_FALSE(recognises(log_of(line))) << line(1, 101);
  EXPECT_FALSE(recognises("step 1 time 3ms\nstep 2 time 3ms\n")) << "two lines may be anything";
  EXPECT_FALSE(recognises(std::string("\0step 1 time 3ms\nstep 2 time 3ms\nstep 3 time 3ms\n", 49)));
}

TEST_F(StepLog, RanksThatPrintAlikeRestartsAndIntervalsAreSaid) {
  std::string text;
  for (const int step : {10, 20, 30, 40, 30, 40, 50})
    for (const char* rank : {"0: ", "1: "})
      text += fmt::format("{}step {} | step time: {} ms |\n", rank, step, step + step / 10);
  const trace::Run run = read(text);
  EXPECT_EQ(steps_of(run), (std::vector<Duration>{11ms, 22ms, 33ms, 44ms, 33ms, 44ms, 55ms}));
  const std::string notes = notes_of(run);
  EXPECT_THAT(notes, testing::HasSubstr("a line every 10 steps"));
  EXPECT_THAT(notes, testing::HasSubstr("1 time the numbers of steps go back"));
  EXPECT_THAT(notes, testing::HasSubstr("7 lines repeat the one before or have another label"));
}

TEST_F(StepLog, ALogWithALongBeginningIsLookedInto) {
  const std::string steps =
      log_of([](int i, int ms) { return fmt::format("iter {}: loss 3, time {}.00ms", i, ms); });
  EXPECT_TRUE(recognises(std::string(3 * kHeadBytes, '.') + "\n" + steps));
  EXPECT_FALSE(recognises(std::string(3 * kHeadBytes, '.') + "\n"));
}

}  // namespace
}  // namespace cox::trace
