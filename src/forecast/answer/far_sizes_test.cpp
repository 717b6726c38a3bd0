// SPDX-License-Identifier: Apache-2.0
#include "forecast/answer/far_sizes.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "cox/model/toml.hpp"
#include "cox/simulate/outcome.hpp"

#include "forecast/answer/forecast.hpp"
#include "forecast/scenario/resize.hpp"

namespace cox::forecast {
namespace {

/// Up to 4,096 ranks work hides the sums; at 16,384 they take longer than the layers, and what ranks vary by hides some of that.
const std::string kHiding = R"(
[cluster]
nodes = 512
devices_per_node = 2
nic.latency = "2us"
nic.bandwidth = "25GB/s"
scale_up.latency = "1us"
scale_up.bandwidth = "300GB/s"
[job]
workload = "training"
steps = 20
bucket = "25MB"
[job.layers]
count = 20
forward = "50ms"
backward = "100ms"
gradients = "25MB"
[[noise]]
law = "gaussian"
cv = 0.05
)";

model::Scenario scenario(const std::string& text) {
  auto read = model::parse_scenario(text, "test.toml", ".");
  EXPECT_TRUE(read) << (read ? "" : read.error().message);
  return std::move(read->scenario);
}

FullForecast forecast_of(std::vector<std::int64_t> sizes) {
  Evidence evidence;
  evidence.inputs.push_back({.path = "test.toml", .kind = InputKind::Scenario});
  evidence.scenario = scenario(kHiding);
  Asked asked;
  asked.sizes = std::move(sizes);
  asked.project.replicates = 20;
  auto made = make_forecast(evidence, asked);
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  return *std::move(made);
}

// Without noise communication that surfaces is a tenth too long: the forecast is what steps with noise take.
TEST(FarSizes, ValueAndBandHoldStepsWithNoise) {
  const FullForecast f = forecast_of({16'384});
  ASSERT_EQ(f.simulated.far.size(), 1u);
  model::Scenario s = resized(scenario(kHiding), 16'384);
  s.job.steps = 3;
  s.seed += 100;  // other draws
  const auto truth = simulate::simulate(s, {.threads = 1});
  ASSERT_TRUE(truth);
  const Seconds step = (truth->step_ends.back() - truth->step_ends.front()) / 2;
  const SizePoint& p = f.projection.points.front();
  EXPECT_GT(f.simulated.far.front().by_parts.value / step, 1.05) << "what is mended here";
  EXPECT_NEAR(p.mean.value / step, 1, 0.005);
  EXPECT_LE(p.mean.low, step);
  EXPECT_GE(p.mean.high, step);
}

TEST(FarSizes, AnAnswerIsTheSameWhateverElseIsAsked) {
  const FullForecast alone = forecast_of({8192});
  const FullForecast beside = forecast_of({8192, 16'384});
  EXPECT_EQ(alone.projection.points.front().mean.value, beside.projection.points.front().mean.value);
  EXPECT_EQ(alone.projection.points.front().mean.low, beside.projection.points.front().mean.low);
}

CheckedSize size_of(std::int64_t ranks, double simulated, double by_parts) {
  const Seconds told{by_parts};
  return {.ranks = ranks,
          .step = Seconds{simulated},
          .by_parts = {told, told, told},
          .forecast = {told, told, told}};
}

TEST(FarSizes, WhatTheyTakeOverTheNearOnesComesSmoothly) {
  EXPECT_FALSE(over_parts_far({}, 4096, {size_of(16'384, 1.001, 1)})) << "it agrees";
  const OverPartsAt over = over_parts_far({}, 4096, {size_of(16'384, 0.9, 1), size_of(65'536, 0.8, 1)});
  ASSERT_TRUE(over);
  EXPECT_EQ(over(1024), 1);
  EXPECT_NEAR(over(4096), 1, 1e-12);
  EXPECT_NEAR(over(16'384), 0.9, 1e-12);
  EXPECT_NEAR(over(8192), std::sqrt(0.9), 1e-9);
  EXPECT_NEAR(over(65'536), 0.8, 1e-12);
  EXPECT_NEAR(over(1'048'576), 0.8, 1e-12);
  EXPECT_NEAR(over_parts_far([](std::int64_t) { return 1.1; }, 4096, {size_of(16'384, 1.1, 1)})(16'384), 1.1,
              1e-12)
      << "as the near ones say";
}

// Communication grows by 3, ranks wait 2 for each other: of a step of 10 no more than 2 may be hidden.
TEST(FarSizes, WhereNoneIsSimulatedTheBandHoldsWhatMayBeHidden) {
  CheckedSizes near;
  near.sizes = {size_of(4096, 1, 1)};
  SizePoint p;
  p.ranks = 65'536;
  p.mean = p.median = p.p95 = p.p99 = p.p999 = p.with_unseen =
      p.with_shared = {Seconds{10}, Seconds{10}, Seconds{10}};
  p.rest = Seconds{4};
  p.efficiency = 0.4;
  const RestAt rest = [](std::int64_t ranks) {
    return TimeEstimate{.value = Seconds{ranks > 4096 ? 4.0 : 1.0}};
  };
  widen_by_hidden(p, near, rest);
  EXPECT_NEAR(p.mean.low.count(), 8, 1e-12);
  EXPECT_EQ(p.mean.high, Seconds{10});
  SizePoint simulated = p;
  simulated.ranks = 4096;
  simulated.mean.low = Seconds{10};
  widen_by_hidden(simulated, near, rest);
  EXPECT_EQ(simulated.mean.low, Seconds{10});
}

}  // namespace
}  // namespace cox::forecast
