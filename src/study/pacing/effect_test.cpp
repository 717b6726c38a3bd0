// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "cox/base/random.hpp"
#include "cox/base/stats.hpp"
#include "cox/study/pacing_effect.hpp"

namespace cox::study {
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

PairSums pair_of(double ratio) {
  return {.off = Seconds{std::exp(ratio) * 32}, .on = Seconds{32}, .off_steps = 32, .on_steps = 32};
}

TEST(PacingEffect, TheMedianForgetsWhatTheTotalCharges) {
  // Nine chunks at par, and a first one that cost a tenth.
  std::vector<PairSums> pairs(9, pair_of(0));
  pairs.push_back(pair_of(std::log(1 / 1.1)));
  const BootstrapOfPairs boot = bootstrap_pairs(pairs, 1, 100);
  EXPECT_DOUBLE_EQ(boot.median, 0);
  EXPECT_NEAR(boot.total, std::log((9 + 1 / 1.1) / 10), 1e-12);
  EXPECT_EQ(boot.medians, bootstrap_pairs(pairs, 1, 100).medians);
  EXPECT_NE(boot.totals, bootstrap_pairs(pairs, 2, 100).totals);
}

// A normal sample's median lies in its interval about as often as the interval says.
TEST(PacingEffect, IntervalsCoverWhatIsTrue) {
  constexpr int kTrials = 400;
  constexpr double kTrue = 0.03;
  const RandomStream noise(11, 1);
  int covered[2] = {0, 0};
  for (int t = 0; t < kTrials; ++t) {
    std::vector<PairSums> pairs;
    for (std::uint64_t i = 0; i < 12; ++i)
      pairs.push_back(pair_of(kTrue + 0.01 * noise.normal(static_cast<std::uint64_t>(t), i)));
    const BootstrapOfPairs boot = bootstrap_pairs(pairs, static_cast<std::uint64_t>(t), 300);
    const auto holds = [&](const std::vector<double>& replicates) {
      return quantile(replicates, 0.025) <= kTrue && kTrue <= quantile(replicates, 0.975);
    };
    covered[0] += holds(boot.medians) ? 1 : 0;
    covered[1] += holds(boot.totals) ? 1 : 0;
  }
  for (const int c : covered) {
    EXPECT_GE(c, kTrials * 0.91);
    EXPECT_LE(c, kTrials * 0.99);
  }
}

/// off, auto and random, a condition with a bar, and groups in which each arm's step lasts as told.
struct Lab {
  PacingStudy study;
  PacingCondition condition;
  Lab() {
    study.arms = {
        {.name = "off"}, {.name = "again"}, {.name = "auto", .settings = "auto"}, {.name = "random"}};
    study.protocol.quads = 4;
    study.protocol.segment = Seconds{4};
    study.protocol.chunk = Seconds{1};
    study.protocol.draws = 500;
    condition = {.name = "c", .bar = 0.12, .period = Seconds{0.02}, .best = Seconds{0.02}, .arms = {1, 2, 3}};
    study.conditions = {condition};
  }
  [[nodiscard]] MeasuredGroup measure(const std::vector<double>& period_s, double steal = 0) const {
    MeasuredGroup group{.plan = plan_pacing(study, condition, condition.arms, PacingDepth::Full, 0)};
    const RandomStream noise(5, 2);
    for (std::size_t b = 0; b < group.plan.blocks.size(); ++b) {
      const PacingBlock& block = group.plan.blocks[b];
      MeasuredBlock measured{.steal_ratio = b == 10 ? steal : 0};
      for (std::int64_t i = 0; i < block.steps; ++i) {
        // The first windows are far off: they must not count.
        const double factor =
            i < block.dropped ? 10 : 1 + 0.01 * noise.normal(b, static_cast<std::uint64_t>(i));
        measured.steps.push_back({.period = duration_from_seconds(period_s[block.arm] * factor),
                                  .mean_wait = Nanoseconds{4'000'000},
                                  .mean_delay = Nanoseconds{block.arm == 2 ? 1'000'000 : 0},
                                  .is_held = block.arm == 2 && i % 2 == 0});
      }
      group.blocks.push_back(std::move(measured));
    }
    return group;
  }
};

const PacingEffect& arm(const PacingConditionResult& r, const std::string& name) {
  for (const PacingEffect& e : r.effects)
    if (e.arm == name) return e;
  ADD_FAILURE() << "no arm " << name;
  static const PacingEffect none;
  return none;
}

/// Intervals of an arm without effect, over jobs whose blocks differ by 1 %: how many hold 0.
int intervals_that_hold_nothing(int quads, int trials) {
  Lab lab;
  lab.study.protocol.quads = quads;
  lab.study.protocol.draws = 300;
  lab.condition.arms = {1};
  const PacingPlan plan = plan_pacing(lab.study, lab.condition, lab.condition.arms, PacingDepth::Full, 0);
  int held = 0;
  for (int t = 0; t < trials; ++t) {
    const RandomStream noise(static_cast<std::uint64_t>(t), 3);
    MeasuredGroup group{.plan = plan};
    for (std::size_t b = 0; b < plan.blocks.size(); ++b) {
      const PacedMeasurement step{.period = duration_from_seconds(0.02 * (1 + 0.01 * noise.normal(b, 0)))};
      group.blocks.push_back(
          {.steps = std::vector<PacedMeasurement>(static_cast<std::size_t>(plan.blocks[b].steps), step)});
    }
    const PacingEffect e = judge_condition(lab.study, lab.condition, {&group, 1}).effects.at(0);
    held += e.low <= 0 && e.high >= 0 ? 1 : 0;
  }
  return held;
}

TEST(PacingEffect, IntervalsOfFewPairsAreWideEnough) {
  constexpr int kTrials = 300;
  for (const int quads : {1, 2, 3}) {
    const int held = intervals_that_hold_nothing(quads, kTrials);
    EXPECT_GE(held, kTrials * 0.91) << quads;
    EXPECT_LE(held, kTrials * 0.995) << quads;
  }
}

/// All pairs lie on the right side, but not by much: of four, chance does that once in 16 times.
TEST(PacingEffect, FewPairsOnOneSideDoNotMakeAProof) {
  Lab lab;
  lab.condition.bar = 0;
  lab.study.protocol.draws = 5000;
  const MeasuredGroup group = lab.measure({0.02, 0.02, 0.02, 0.02});
  MeasuredGroup shaky = group;
  // Chunks of auto whose steps last between 0 and 0.75 % longer than those of off.
  int chunk = 0;
  for (std::size_t b = 0; b < shaky.blocks.size(); ++b)
    if (lab.study.arms[shaky.plan.blocks[b].arm].name == kArmAuto) {
      for (PacedMeasurement& s : shaky.blocks[b].steps)
        s.period = duration_from_seconds(0.02 * (1 + 0.0025 * chunk));
      ++chunk;
    }
  ASSERT_GE(chunk, 4);
  const PacingConditionResult r = judge_condition(lab.study, lab.condition, {&shaky, 1});
  EXPECT_GT(arm(r, "auto").p_harm, 1e-3);
  const PacingConditionResult steady = judge_condition(lab.study, lab.condition, {&group, 1});
  EXPECT_LT(arm(steady, "auto").p_harm, arm(r, "auto").p_harm / 2);
}

TEST(PacingEffect, FindsTheGainThatIsThere) {
  const Lab lab;
  const MeasuredGroup group = lab.measure({0.02, 0.02, 0.016, 0.017});
  std::vector<PacingConditionResult> results = {judge_condition(lab.study, lab.condition, {&group, 1})};
  const PacingEffect& found = arm(results[0], "auto");
  EXPECT_EQ(found.pairs, 4);
  EXPECT_NEAR(found.gain, 0.25, 0.005);
  EXPECT_LT(found.low, 0.25);
  EXPECT_GT(found.high, 0.245);
  EXPECT_NEAR(found.total_gain, 0.25, 0.005);
  EXPECT_NEAR(found.on.cv, 0.01, 0.002);
  EXPECT_NEAR(found.held_cv, 0.01, 0.002);
  EXPECT_NEAR(found.on.delay.count(), 0.001, 1e-9);
  // 16 ms less 4 ms of waiting and 1 ms of delay count fully, these at 0.3.
  EXPECT_NEAR(found.on.energy, 0.011 + 0.3 * 0.005, 5e-5);
  EXPECT_EQ(arm(results[0], "again").pairs, 8);
  EXPECT_TRUE(results[0].is_resolved);
  EXPECT_LT(results[0].floor_half_width, 0.005);
  EXPECT_LT(found.p_random, 0.01);
  correct_tests(lab.study, results);
  EXPECT_TRUE(results[0].no_harm.passed);
  EXPECT_TRUE(results[0].superior.passed);
  EXPECT_FALSE(wants_more(lab.study, lab.condition, results[0]));
}

TEST(PacingEffect, HarmIsNotPassed) {
  const Lab lab;
  const MeasuredGroup group = lab.measure({0.02, 0.02, 0.0205, 0.02});
  std::vector<PacingConditionResult> results = {judge_condition(lab.study, lab.condition, {&group, 1})};
  correct_tests(lab.study, results);
  EXPECT_LT(arm(results[0], "auto").high, -0.01);
  EXPECT_FALSE(results[0].no_harm.passed);
  EXPECT_FALSE(results[0].superior.passed);
  EXPECT_FALSE(results[0].no_worse_than_random.passed);
}

TEST(PacingEffect, StolenTimeStrikesThePairAndNothingElse) {
  const Lab lab;
  int struck = 0;
  int pairs = 0;
  for (const PacingEffect& e :
       judge_condition(lab.study, lab.condition, std::vector{lab.measure({1, 1, 1, 1}, 0.5)}).effects) {
    struck += e.struck;
    pairs += e.pairs;
  }
  EXPECT_EQ(struck, 1);
  EXPECT_EQ(pairs, 8 + 4 + 8 - 1);
}

TEST(PacingEffect, AWideFloorIsUnresolvedAndAsksForMore) {
  Lab lab;
  lab.study.protocol.floor = 0.00001;
  const MeasuredGroup group = lab.measure({0.02, 0.02, 0.016, 0.017});
  std::vector<PacingConditionResult> r = {judge_condition(lab.study, lab.condition, {&group, 1})};
  correct_tests(lab.study, r);
  EXPECT_FALSE(r[0].is_resolved);
  EXPECT_TRUE(wants_more(lab.study, lab.condition, r[0]));
  EXPECT_FALSE(is_auto_open(lab.study, lab.condition, r[0]));
  lab.condition.bar = arm(r[0], "auto").gain;  // inside its interval
  r = {judge_condition(lab.study, lab.condition, {&group, 1})};
  correct_tests(lab.study, r);
  EXPECT_TRUE(is_auto_open(lab.study, lab.condition, r[0]));
}

}  // namespace
}  // namespace cox::study
