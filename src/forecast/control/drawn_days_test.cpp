// SPDX-License-Identifier: Apache-2.0
#include "forecast/control/drawn_days.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

namespace cox::forecast {
namespace {

constexpr Prior kExact{.failures = 1, .restarts = 1, .checkpoints = 1, .start = 1};

/// A thousand seconds of work, shared by the nodes; a token a node.
BudgetAt shared_work() {
  return [](std::int64_t nodes) -> Result<StepBudget> {
    return StepBudget{.compute = Seconds{1000.0 / static_cast<double>(nodes)},
                      .communication = {},
                      .waiting = {},
                      .tokens = 1};
  };
}

model::Scenario failing() {
  model::Scenario s;
  s.cluster.nodes = 8;
  s.failures = {.node_mtbf = Seconds{10 * 86'400.0}, .restart = Seconds{600}, .checkpoint = Seconds{60}};
  return s;
}

// The n-th of 20 draws takes 1 + n / 100 times as long.
TEST(DrawnDays, StepsThatAreLongerTakeMoreDaysOrMoreNodes) {
  const DrawnStep longer = [](std::int64_t, int draw) { return 1 + 0.01 * draw; };
  const Training training{.tokens = 100};
  const DrawnDays drawn({}, shared_work(), training, longer, {});
  Days d = days({}, shared_work(), 100, 10).value();
  drawn.add_to(d);
  ASSERT_TRUE(d.band);
  EXPECT_NEAR(d.band->low.count(), 10'000, 1e-6);
  EXPECT_NEAR(d.band->high.count(), 11'900, 1e-6);
  NodesFor n = nodes_for({}, shared_work(), 100, Seconds{1000}, 1, 1'000).value();
  ASSERT_EQ(n.at.nodes, 100);
  drawn.add_to(n, Seconds{1000}, 1);
  EXPECT_EQ(n.nodes_low, 100);
  EXPECT_EQ(n.nodes_high, 119);
  NodesFor few = nodes_for({}, shared_work(), 100, Seconds{1000}, 1, 110).value();
  drawn.add_to(few, Seconds{1000}, 1);
  EXPECT_EQ(few.nodes_low, 100);
  EXPECT_FALSE(few.nodes_high) << "more than the most that are looked at";
}

TEST(DrawnDays, NothingDrawnHasNoBand) {
  const DrawnDays exact(failing(), shared_work(), {.tokens = 1e4}, {}, kExact);
  Days d = days(failing(), shared_work(), 1e4, 8).value();
  exact.add_to(d);
  EXPECT_FALSE(d.band);
  const DrawnDays safe({}, shared_work(), {.tokens = 1e4}, {}, {});
  Days never_fails = days({}, shared_work(), 1e4, 8).value();
  safe.add_to(never_fails);
  EXPECT_FALSE(never_fails.band);
}

// At the interval of the estimate: a day that happens to have half as many failures is not written for.
TEST(DrawnDays, FailuresAreThoseOfTheGoodputsDraws) {
  const Days plain = days(failing(), shared_work(), 1e4, 8).value();
  Days d = plain;
  DrawnDays(failing(), shared_work(), {.tokens = 1e4}, {}, {}).add_to(d);
  ASSERT_TRUE(d.band);
  Seconds least = plain.total, most = plain.total;
  for (const FailureDraw& draw : failure_draws(20)) {
    model::Scenario s = failing();
    draw.apply({}, s.failures);
    s.failures.checkpoint_interval = plain.intervals.far;
    const Seconds total = days(s, shared_work(), 1e4, 8, true).value().total;
    least = std::min(least, total);
    most = std::max(most, total);
  }
  EXPECT_EQ(d.band->low, least);
  EXPECT_EQ(d.band->high, most);
  EXPECT_LT(d.band->low, plain.total);
  EXPECT_GT(d.band->high, plain.total);
  Days wide = plain;
  DrawnDays(failing(), shared_work(), {.tokens = 1e4}, {}, {.failures = 4}).add_to(wide);
  EXPECT_GT(wide.band->high, d.band->high);
}

TEST(RememberedSteps, AreSimulatedOnceAndLieOnALineBetween) {
  const auto calls = std::make_shared<int>(0);
  const BudgetAt counted = [calls](std::int64_t nodes) -> Result<StepBudget> {
    ++*calls;
    return StepBudget{.compute = Seconds{std::log(static_cast<double>(nodes))},
                      .communication = Seconds{1},
                      .waiting = {},
                      .tokens = static_cast<double>(nodes)};
  };
  const RememberedSteps steps(counted, true);
  for (const std::int64_t n : {100, 110, 200, 100}) ASSERT_TRUE(steps.exact()(n));
  EXPECT_EQ(*calls, 3);
  const StepBudget between = steps.near()(105).value();
  EXPECT_EQ(*calls, 3);
  EXPECT_NEAR(between.compute.count(), std::log(105.0), 1e-12);
  EXPECT_EQ(between.communication, Seconds{1});
  EXPECT_NEAR(between.tokens, 105, 1e-12);
  ASSERT_TRUE(steps.near()(150));  // too far from both
  EXPECT_EQ(*calls, 4);
  const RememberedSteps each(counted, false);
  ASSERT_TRUE(each.exact()(100) && each.exact()(110) && each.near()(105));
  EXPECT_EQ(*calls, 7);
}

}  // namespace
}  // namespace cox::forecast
