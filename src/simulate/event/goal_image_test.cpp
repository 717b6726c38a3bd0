// SPDX-License-Identifier: Apache-2.0
#include "simulate/event/goal_image.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cox/simulate/goal.hpp"

namespace cox::simulate {
namespace {

std::string sample() {
  return goal_binary(
             "num_ranks 2\nrank 0 {\na: calc 5\nb: send 9b to 1 tag 2\nb requires a\nc: recv 9b from 1 tag "
             "2\nc irequires a\n"
             "d: calc 7\nd requires b\nd requires c\n}\nrank 1 {\nrecv 9b from -1 tag 2\nsend 9b to 0 tag 2\n}\n",
             "s")
      .value();
}

Result<EventOutcome> run(const std::string& bytes) {
  return simulate_goal(std::as_bytes(std::span(bytes)), "s.bin", parse_loggops("L=1us,G=1ns/B,S=8B").value());
}

TEST(GoalImage, TheUndamagedOneRuns) {
  EXPECT_TRUE(run(sample()));
}

TEST(GoalImage, EveryTruncationIsRefused) {
  const std::string whole = sample();
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const auto outcome = run(whole.substr(0, n));
    ASSERT_FALSE(outcome) << n;
    EXPECT_TRUE(outcome.error().id == "goal-005" || outcome.error().id == "goal-001") << outcome.error().id;
  }
}

/// Whatever a byte becomes, the schedule is refused or runs; sanitizers watch.
TEST(GoalImage, EveryDamagedByteIsRefusedOrHarmless) {
  const std::string whole = sample();
  int refused = 0;
  for (std::size_t n = 0; n < whole.size(); ++n) {
    for (const int value : {0x00, 0x01, 0x02, 0x7f, 0x80, 0xff}) {
      std::string damaged = whole;
      damaged[n] = static_cast<char>(value);
      const auto outcome = run(damaged);
      if (outcome) continue;
      ++refused;
      EXPECT_FALSE(outcome.error().message.empty());
    }
  }
  EXPECT_GT(refused, 500);
}

TEST(GoalImage, WhatLogGopSimUsedUpIsNamedSo) {
  std::string bytes = sample();
  bytes[0] = '\x26';
  bytes[1] = '\x09';
  const auto outcome = run(bytes);
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().message.find("--save-mem"), std::string::npos);
}

/// A table that points every rank at one block would make a short file a long schedule.
TEST(GoalImage, BlocksThatOverlapAreRefused) {
  std::string bytes = sample();
  for (std::size_t i = 0; i < 16; ++i) bytes[14 + 16 + i] = bytes[14 + i];
  const auto outcome = run(bytes);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().id, "goal-005");
}

TEST(GoalImage, TheWriterTakesRanksInAnyOrder) {
  const std::vector<GoalOperation> calc{{.amount = 3}};
  GoalImageWriter writer(3);
  writer.add_rank(2, calc, {});
  writer.add_rank(0, calc, {});
  EXPECT_TRUE(writer.has(2));
  EXPECT_FALSE(writer.has(1));
  const std::string bytes = std::move(writer).finish();
  const auto image = GoalImage::check(std::as_bytes(std::span(bytes)), "s");
  ASSERT_TRUE(image) << image.error().to_string();
  EXPECT_EQ(image->operations(), 2U);
  EXPECT_EQ(image->longest_calc(), 3U);
}

}  // namespace
}  // namespace cox::simulate
