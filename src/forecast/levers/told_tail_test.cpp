// SPDX-License-Identifier: Apache-2.0
#include "forecast/levers/told_tail.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "cox/base/random.hpp"

#include "forecast/calibrate/calibrate.hpp"
#include "forecast/levers/by_parts.hpp"
#include "support/forecast_sample.hpp"

namespace cox::forecast {
namespace {

constexpr int kRanks = 16;
constexpr int kSteps = 2'000;

TimeEstimate stated(double seconds) {
  return {
      .value = Seconds{seconds}, .low = Seconds{seconds}, .high = Seconds{seconds}, .origin = Origin::Stated};
}

/// A Scenario's: 100 s of work beside what is drawn of `law`, 7 s of communication.
PartsCase stated_case(const Law& law) {
  PartsCase job;
  job.parts.ranks = job.parts.nodes = kRanks;
  job.parts.steps = kSteps;
  PositionParts p;
  p.ranks = kRanks;
  p.level = stated(100 + law.mean().count());
  p.residual = law.plus(-law.mean());
  p.residual_sd = stated(law.deviation().count());
  job.parts.positions = {p};
  job.parts.rest = stated(7);
  job.rest = [](std::int64_t) { return stated(7); };
  job.ranks = kRanks;
  return job;
}

/// A Run that draws it.
PartsCase recorded_case(const Law& law, std::uint64_t seed) {
  Sample sample = test::sample_of({.residual = 0}, kRanks, 1, kSteps, seed);
  const RandomStream random(seed, 77);
  for (int k = 0; k < kSteps; ++k) {
    Seconds slowest{};
    for (int r = 0; r < kRanks; ++r) {
      const auto at = static_cast<std::size_t>(k * kRanks + r);
      const double u = random.uniform(static_cast<std::uint64_t>(k), static_cast<std::uint64_t>(r));
      sample.positions[0].own[at] = Seconds{100} + law.quantile(std::clamp(u, 1e-12, 1 - 1e-12));
      slowest = std::max(slowest, sample.positions[0].own[at]);
    }
    sample.steps[static_cast<std::size_t>(k)].length = slowest + Seconds{7};
  }
  PartsCase job;
  job.parts = calibrate(sample).value();
  job.rest = [](std::int64_t) { return stated(7); };
  job.ranks = kRanks;
  return job;
}

double gain(const PartsCase& job, std::string_view name) {
  return throughput_with(job, part_levers(job, nullptr), {std::string(name)}, kRanks, {}).value_or(0);
}

double gain_of_runs(const Law& law, std::string_view name) {
  double sum = 0;
  for (const std::uint64_t seed : {1U, 2U, 3U}) sum += gain(recorded_case(law, seed), name) / 3;
  return sum;
}

// Detours are what a Run of as many ranks and steps takes for them, so a job and its record say the same of what they cost.
TEST(ToldTail, AScenarioSaysOfDetoursWhatItsRunSays) {
  for (const Law& law :
       {Law::pareto(Seconds{3}, 2.5), Law::exponential(Seconds{5}), Law::detour(Seconds{20}, 0.02)}) {
    for (const std::string_view name : {"no-detours", "aligned-detours"}) {
      const double here = gain(stated_case(law), name);
      EXPECT_GT(here, 1.005) << name;
      EXPECT_NEAR(here, gain_of_runs(law, name), 0.15 * (here - 1)) << name;
    }
  }
}

TEST(ToldTail, TheShapeAndTheShareAreThoseOfTheLaw) {
  const Parts pareto = with_told_tails(stated_case(Law::pareto(Seconds{3}, 2.5)).parts);
  EXPECT_NEAR(pareto.positions[0].tail_shape.value, 0.4, 0.01);
  EXPECT_NEAR(pareto.positions[0].tail_probability, 0.01, 1e-9) << "fifty of 32,000 are beyond 1 %";
  const Parts rare = with_told_tails(stated_case(Law::detour(Seconds{20}, 0.0213)).parts);
  EXPECT_NEAR(rare.positions[0].tail_probability, 0.0213, 1e-9);
  EXPECT_TRUE(rare.positions[0].detours);
}

TEST(ToldTail, WhatWasMeasuredAndWhatIsConstantStays) {
  PartsCase job = stated_case(Law::exponential(Seconds{5}));
  job.parts.positions[0].level.origin = Origin::Measured;
  EXPECT_EQ(with_told_tails(job.parts).positions[0].tail_probability, 0);
  EXPECT_EQ(with_told_tails(stated_case(Law()).parts).positions[0].tail_probability, 0);
  EXPECT_EQ(gain(stated_case(Law()), "no-detours"), 0) << "there is nothing to take away";
}

}  // namespace
}  // namespace cox::forecast
