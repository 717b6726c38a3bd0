// SPDX-License-Identifier: Apache-2.0
#include "forecast/answer/goodput_bands.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "forecast/checkpoints/drawn_failures.hpp"

namespace cox::forecast {
namespace {

/// Eight nodes of one; a step takes 1 s, and nothing is sent.
FullForecast forecast_of(const model::Failures& failures) {
  FullForecast f;
  f.parts.emplace();
  f.scenario.emplace();
  f.scenario->cluster.nodes = 8;
  f.scenario->job.steps = 1'000;
  f.scenario->failures = failures;
  f.seen_ranks = 8;
  f.seen.ranks = 8;
  f.seen.mean = {.value = Seconds{1}, .low = Seconds{0.9}, .high = Seconds{1.2}};
  SizePoint large = f.seen;
  large.ranks = 512;
  SizePoint refused = large;
  refused.refused = "too far";
  f.projection.points = {large, refused};
  f.goodput.resize(2);
  return f;
}

void fill(FullForecast& f) {
  const Failing failing{.scenario = *f.scenario, .per_node = 1, .step = Seconds{1}};
  const auto at = [&](SizeGoodput& out, double ranks) {
    const Interruptions costs = failing.costs(ranks);
    out.intervals = failing.intervals(costs);
    out.shares = wall_shares(costs, out.intervals);
  };
  at(f.at_seen, 8);
  at(f.goodput[0], 512);
  add_goodput_bands(f, failing);
}

model::Failures failures() {
  return {.node_mtbf = Seconds{30 * 86'400.0},
          .restart = Seconds{300},
          .checkpoint = Seconds{30},
          .checkpoint_interval = Seconds{600}};
}

// With one input that matters the ends are Daly's at the ends of its range: nine in ten is a quantile, and goodput is monotone.
TEST(GoodputBands, OfOneInputAreThoseOfItsEnds) {
  model::Failures f = failures();
  f.restart = Seconds{};
  f.checkpoint = Seconds{1e-3};
  FullForecast made = forecast_of(f);
  fill(made);
  const auto daly = [&](double factor) {
    const double m = 30 * 86'400.0 / 512 * factor;
    return 600 / (m * std::expm1(600.001 / m));
  };
  EXPECT_NEAR(made.goodput[0].goodput.low, daly(1 / 1.5), 2e-3);
  EXPECT_NEAR(made.goodput[0].goodput.high, daly(1.5), 2e-3);
  EXPECT_EQ(made.goodput[1].goodput.high, 0) << "no size, no band";
}

TEST(GoodputBands, HoldTheValueAndGrowWithTheSize) {
  FullForecast made = forecast_of(failures());
  fill(made);
  const SizeGoodput& small = made.at_seen;
  const SizeGoodput& large = made.goodput[0];
  EXPECT_LT(large.goodput.low, large.shares.work);
  EXPECT_GT(large.goodput.high, large.shares.work);
  EXPECT_GT(large.goodput.high - large.goodput.low, small.goodput.high - small.goodput.low);
  EXPECT_LE(large.net.low, made.net_speed_up(0));
  EXPECT_GE(large.net.high, made.net_speed_up(0));
  // The step's band alone, from 0.9 to 1.2 s, is wider than that of goodput here.
  EXPECT_LT(large.throughput.low, 1 / 1.19);
  EXPECT_GT(large.throughput.high, 1 / 0.91);
}

// One size tells nothing of how the start grows: of 60 s at 8 ranks it is up to an hour at 512.
TEST(GoodputBands, AStartOfOneSizeMayGrow) {
  FullForecast made = forecast_of(failures());
  made.scenario->start.fixed = Seconds{60};
  fill(made);
  FullForecast recorded = forecast_of(failures());
  recorded.scenario->start.fixed = Seconds{60};
  recorded.run.start = StartFit{.runs = 1,
                                .sizes = 1,
                                .at_seen = {.value = Seconds{60}, .low = Seconds{60}, .high = Seconds{60}},
                                .fixed = {.value = Seconds{60}, .low = {}, .high = Seconds{60}},
                                .per_rank = {.value = {}, .low = {}, .high = Seconds{7.5}}};
  fill(recorded);
  EXPECT_LT(recorded.goodput[0].goodput.low, made.goodput[0].goodput.low - 0.05);
  EXPECT_NEAR(recorded.goodput[0].shares.work, made.goodput[0].shares.work, 1e-12);
}

// Without checkpoints a failure throws the job back to its first step: a longer step is a longer job.
TEST(GoodputBands, WithoutCheckpointsTheStepIsInGoodput) {
  model::Failures f{.node_mtbf = Seconds{86'400.0 * 10}, .restart = Seconds{300}};
  FullForecast made = forecast_of(f);
  fill(made);
  FullForecast sure = forecast_of(f);
  sure.projection.points[0].mean.low = sure.projection.points[0].mean.high = Seconds{1};
  fill(sure);
  EXPECT_LT(made.goodput[0].goodput.low, sure.goodput[0].goodput.low);
}

TEST(GoodputBands, SayWhatTheyAreOf) {
  FullForecast made = forecast_of(failures());
  fill(made);
  ASSERT_FALSE(made.projection.notes.empty());
  EXPECT_NE(made.projection.notes.back().find("within x 1.5"), std::string::npos);
}

}  // namespace
}  // namespace cox::forecast
