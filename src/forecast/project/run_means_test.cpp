// SPDX-License-Identifier: Apache-2.0
#include "forecast/project/run_means.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "forecast/project/project.hpp"

namespace cox::forecast {
namespace {

TimeEstimate stated(Seconds value) {
  return {.value = value, .low = value, .high = value, .origin = Origin::Stated};
}

/// 100 ms of work; one rank in a hundred takes 20 ms more for good.
Parts few_are_slow(bool nodes = false) {
  Parts parts;
  parts.ranks = 64;
  parts.ranks_per_node = nodes ? 8 : 1;
  parts.nodes = nodes ? 8 : 64;
  parts.steps = 100;
  PositionParts p;
  const Law law = Law::detour(Seconds{0.02}, 0.01);
  p.level = stated(Seconds{0.1} + law.mean());
  (nodes ? p.node : p.rank) = stated(law.deviation());
  (nodes ? p.node_law : p.rank_law) = law.plus(-law.mean());
  parts.positions = {p};
  parts.rest = stated(Seconds{0.005});
  return parts;
}

// Either nobody is slow, or somebody is.
TEST(RunMeans, OfFewSlowRanksAreTwo) {
  ProjectOptions options{.replicates = 400};
  options.rest = [](std::int64_t) { return stated(Seconds{0.005}); };
  for (const std::int64_t ranks : {16, 64, 200}) {
    const Parts parts = few_are_slow();
    const double nobody = std::pow(0.99, ranks);
    const TimeBand run = mean_of_one_run(parts, ranks, {});
    EXPECT_NEAR(run.value.count(), 0.105 + 0.02 * (1 - nobody), 1e-4) << ranks;
    EXPECT_NEAR(run.low.count(), nobody > 0.05 ? 0.105 : 0.125, 3e-4) << ranks;
    EXPECT_NEAR(run.high.count(), 0.125, 3e-4) << ranks;
    const SizePoint at = project(parts, {ranks}, options).points.front();
    EXPECT_LE(at.mean.low, run.low + Seconds{1e-4}) << ranks;
    EXPECT_GE(at.mean.high, run.high - Seconds{1e-4}) << ranks;
  }
}

TEST(RunMeans, OfFewSlowNodesAreTwo) {
  const TimeBand run = mean_of_one_run(few_are_slow(true), 512, {});
  EXPECT_NEAR(run.value.count(), 0.105 + 0.02 * (1 - std::pow(0.99, 64)), 1e-4);
  EXPECT_NEAR(run.low.count(), 0.105, 3e-4);
  EXPECT_NEAR(run.high.count(), 0.125, 3e-4);
}

// What is fresh hides some of what lasts: runs lie nearer to each other.
TEST(RunMeans, LieNearerBesideFreshNoise) {
  Parts noisy = few_are_slow();
  noisy.positions.front().residual = Law::normal(Seconds{}, Seconds{0.01});
  const TimeBand alone = mean_of_one_run(few_are_slow(), 64, {});
  const TimeBand beside = mean_of_one_run(noisy, 64, {});
  EXPECT_LT(beside.high - beside.low, 0.9 * (alone.high - alone.low));
  EXPECT_GT(beside.high - beside.low, 0.2 * (alone.high - alone.low));
}

TEST(RunMeans, WhatLastsAndIsNormalHasNone) {
  Parts parts = few_are_slow();
  parts.positions.front().rank_law = Law();
  const TimeBand run = mean_of_one_run(parts, 64, {});
  EXPECT_EQ(run.low, run.value);
  EXPECT_EQ(run.high, run.value);
}

}  // namespace
}  // namespace cox::forecast
