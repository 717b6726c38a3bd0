// SPDX-License-Identifier: Apache-2.0
#include "evaluate/pacing/effect.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "cox/base/random.hpp"

namespace cox::evaluate {
namespace {

TEST(PacingEffect, HolmStepsDown) {
  // By hand: sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1, then never below the one before.
  const double p[] = {0.01, 0.04, 0.03, 0.005};
  const std::vector<double> adjusted = holm_adjusted(p);
  ASSERT_EQ(adjusted.size(), 4U);
  EXPECT_NEAR(adjusted[0], 0.03, 1e-12);
  EXPECT_NEAR(adjusted[1], 0.06, 1e-12);
  EXPECT_NEAR(adjusted[2], 0.06, 1e-12);
  EXPECT_NEAR(adjusted[3], 0.02, 1e-12);
  const double large[] = {0.6, 0.7};
  EXPECT_DOUBLE_EQ(holm_adjusted(large)[0], 1);
  EXPECT_DOUBLE_EQ(holm_adjusted(large)[1], 1);
  EXPECT_TRUE(holm_adjusted({}).empty());
}

/// off, again, auto and random, a condition with a bar, and starts in which each arm's step lasts as told.
struct Lab {
  PacingStudy study;
  PacingCondition condition;
  Lab() {
    study.arms = {
        {.name = "off"}, {.name = "again"}, {.name = "auto", .settings = "auto"}, {.name = "random"}};
    study.protocol.segment = Seconds{4};
    study.protocol.chunk = Seconds{1};
    study.protocol.chunk_off = Seconds{1};
    condition = {.name = "c", .bar = 0.12, .period = Seconds{0.02}, .best = Seconds{0.02}, .arms = {1, 2, 3}};
    study.conditions = {condition};
  }
  /// One start; its noise is drawn with `number`. `shift`: log factor on the steps of all arms but off.
  [[nodiscard]] MeasuredStart measure(const std::vector<double>& period_s, int number, double steal = 0,
                                      double shift = 0) const {
    MeasuredStart start{.plan = plan_pacing(study, condition, condition.arms, PacingDepth::Full, number)};
    const RandomStream noise(static_cast<std::uint64_t>(number), 2);
    for (std::size_t b = 0; b < start.plan.blocks.size(); ++b) {
      const PacingBlock& block = start.plan.blocks[b];
      MeasuredBlock measured{.steal_ratio = b == 2 ? steal : 0};
      for (std::int64_t i = 0; i < block.steps; ++i) {
        // The first windows are far off: they must not count.
        const double factor =
            i < block.dropped ? 10 : 1 + 0.01 * noise.normal(b, static_cast<std::uint64_t>(i));
        measured.steps.push_back({.period = duration_from_seconds(period_s[block.arm] * factor *
                                                                  std::exp(block.arm == 0 ? 0 : -shift)),
                                  .mean_wait = Nanoseconds{4'000'000},
                                  .mean_delay = Nanoseconds{block.arm == 2 && i % 2 == 0 ? 2'000'000 : 0},
                                  .holding = block.arm == 2 ? 0.75 : 0});
      }
      start.blocks.push_back(std::move(measured));
    }
    return start;
  }
  [[nodiscard]] std::vector<MeasuredStart> starts(const std::vector<double>& period_s, int count = 4) const {
    std::vector<MeasuredStart> all;
    all.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) all.push_back(measure(period_s, i));
    return all;
  }
};

const PacingEffect& arm(const PacingConditionResult& r, const std::string& name) {
  for (const PacingEffect& e : r.effects)
    if (e.arm == name) return e;
  ADD_FAILURE() << "no arm " << name;
  static const PacingEffect none;
  return none;
}

TEST(PacingEffect, FindsTheGainThatIsThere) {
  const Lab lab;
  std::vector<PacingConditionResult> results = {
      judge_condition(lab.study, lab.condition, lab.starts({0.02, 0.02, 0.016, 0.017}))};
  const PacingEffect& found = arm(results[0], "auto");
  EXPECT_EQ(found.starts.size(), 4U);
  EXPECT_EQ(found.pairs(), 16U);
  EXPECT_NEAR(found.gain, 0.25, 0.005);
  EXPECT_LT(found.low, 0.25);
  EXPECT_GT(found.high, 0.245);
  EXPECT_NEAR(found.total_gain, 0.25, 0.005);
  EXPECT_NEAR(found.on.cv, 0.01, 0.002);
  EXPECT_NEAR(found.held_cv, 0.01, 0.002);
  EXPECT_EQ(found.held_steps, found.on.steps / 2) << "those with a delay";
  EXPECT_NEAR(found.holding, 0.75, 1e-9);
  EXPECT_NEAR(found.on.delay.count(), 0.001, 1e-9);
  // 16 ms less 4 ms of waiting and 1 ms of delay count fully, these at 0.3.
  EXPECT_NEAR(found.on.energy, 0.011 + 0.3 * 0.005, 5e-5);
  EXPECT_EQ(arm(results[0], "again").pairs(), 16U) << "beside every chunk";
  EXPECT_EQ(arm(results[0], "random").pairs(), 4U) << "once in a start";
  EXPECT_TRUE(results[0].is_resolved);
  EXPECT_LT(results[0].floor_half_width, 0.01);
  EXPECT_LT(found.p_random, 0.01);
  correct_tests(lab.study, results);
  EXPECT_TRUE(results[0].no_harm.passed);
  EXPECT_TRUE(results[0].superior.passed);
  EXPECT_FALSE(results[0].floor_beside_zero.passed);
}

TEST(PacingEffect, HarmIsNotPassed) {
  const Lab lab;
  std::vector<PacingConditionResult> results = {
      judge_condition(lab.study, lab.condition, lab.starts({0.02, 0.0208, 0.021, 0.02}))};
  correct_tests(lab.study, results);
  EXPECT_LT(arm(results[0], "auto").high, -0.01);
  EXPECT_FALSE(results[0].no_harm.passed);
  EXPECT_FALSE(results[0].superior.passed);
  EXPECT_FALSE(results[0].no_worse_than_random.passed);
  EXPECT_TRUE(results[0].floor_beside_zero.passed) << "off against off 4 % slower is found";
}

/// What differs from start to start widens the interval; what differs within one does not by itself.
TEST(PacingEffect, TheStartIsTheUnit) {
  const Lab lab;
  std::vector<MeasuredStart> apart;
  apart.reserve(4);
  for (int i = 0; i < 4; ++i) apart.push_back(lab.measure({0.02, 0.02, 0.02, 0.02}, i, 0, 0.02 * i));
  const PacingConditionResult one =
      judge_condition(lab.study, lab.condition, lab.starts({0.02, 0.02, 0.02, 0.02}));
  const PacingConditionResult other = judge_condition(lab.study, lab.condition, apart);
  EXPECT_GT(other.floor_half_width, 5 * one.floor_half_width);
  EXPECT_FALSE(other.is_resolved);
  // sd of 0, 2, 4, 6 % by hand: 2.582 %; error of 4 starts with r = 0.3: sqrt(1/4 + 3/7); Student's 3.182
  const double half = 3.182 * 0.02582 * std::sqrt(0.25 + 3.0 / 7);
  EXPECT_NEAR(other.floor_half_width, std::exp(0.03) * std::sinh(half), 0.006);
}

TEST(PacingEffect, OneStartHasNoIntervalAndPassesNothing) {
  const Lab lab;
  std::vector<PacingConditionResult> results = {
      judge_condition(lab.study, lab.condition, lab.starts({0.02, 0.02, 0.01, 0.02}, 1))};
  correct_tests(lab.study, results);
  EXPECT_EQ(arm(results[0], "auto").low, arm(results[0], "auto").gain);
  EXPECT_LT(results[0].floor_half_width, 0);
  EXPECT_FALSE(results[0].no_harm.passed || results[0].superior.passed || results[0].is_resolved);
}

TEST(PacingEffect, StolenTimeStrikesThePairsOfItsBlockAndNothingElse) {
  const Lab lab;
  const PacingConditionResult r = judge_condition(
      lab.study, lab.condition, std::vector{lab.measure({1, 1, 1, 1}, 0, 0.5), lab.measure({1, 1, 1, 1}, 1)});
  const MeasuredStart start = lab.measure({1, 1, 1, 1}, 0, 0.5);
  int with_block = 0;
  for (const PacingPair& p : start.plan.pairs) with_block += p.off == 2 || p.on == 2 ? 1 : 0;
  ASSERT_GT(with_block, 0);
  int struck = 0;
  std::size_t pairs = 0;
  for (const PacingEffect& e : r.effects) {
    struck += e.struck;
    pairs += e.pairs();
  }
  EXPECT_EQ(struck, with_block);
  EXPECT_EQ(pairs, 2 * start.plan.pairs.size() - static_cast<std::size_t>(with_block));
}

/// The block of off is longer than the short ones: they are compared with the part that has their draws.
TEST(PacingEffect, AsManyStepsCountOnEitherSide) {
  const Lab lab;
  MeasuredStart start = lab.measure({0.02, 0.02, 0.02, 0.02}, 0);
  const std::int64_t shorter = lab.study.protocol.block_windows * lab.study.protocol.window;
  for (std::size_t b = 0; b < start.blocks.size(); ++b)
    if (start.plan.blocks[b].arm == 0 && start.plan.blocks[b].dropped < start.plan.blocks[b].steps) {
      ASSERT_GT(start.plan.blocks[b].steps, shorter);
      for (std::size_t i = static_cast<std::size_t>(shorter); i < start.blocks[b].steps.size(); ++i)
        start.blocks[b].steps[i].period *= 2;
    }
  const PacingConditionResult r = judge_condition(lab.study, lab.condition, {&start, 1});
  EXPECT_NEAR(arm(r, "random").gain, 0, 0.01);
  EXPECT_EQ(arm(r, "random").off.steps, arm(r, "random").on.steps);
  EXPECT_GT(arm(r, "auto").total_gain, 0.1) << "all of off beside a chunk of auto counts";
}

}  // namespace
}  // namespace cox::evaluate
