// SPDX-License-Identifier: Apache-2.0
#include "cox/forecast/scaling_job.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "forecast/regimes/amplification.hpp"
#include "forecast/regimes/recipe.hpp"

namespace cox::forecast {
namespace {

TEST(ScalingJob, OneRankWithoutCommunicationIsLinear) {
  const ScalingJob job = job_of(Seconds{2}, {});
  const ThroughputPoint one = job.at(1, kEveryMechanism);
  EXPECT_DOUBLE_EQ(one.throughput, 1);
  EXPECT_DOUBLE_EQ(one.elasticity, 1);
  EXPECT_DOUBLE_EQ(job.at(4096, kEveryMechanism).throughput, 4096);
}

// eps is a derivative: the one that differences of throughput give, with any mechanism off.
TEST(ScalingJob, ElasticityIsTheDerivativeOfThroughput) {
  const ScalingJob job = testing::recipe();
  ASSERT_EQ(job.mechanisms.size(), 5U);
  for (const MechanismSet on : {kEveryMechanism, ~MechanismSet{1}, ~MechanismSet{2}, ~MechanismSet{4},
                                ~MechanismSet{8}, ~MechanismSet{16}, MechanismSet{0}})
    for (const std::int64_t n : {100, 400, 1000, 4000, 30000}) {
      const std::int64_t d = n / 50;
      const double by_difference = std::log(job.at(n + d, on).throughput / job.at(n - d, on).throughput) /
                                   std::log(static_cast<double>(n + d) / static_cast<double>(n - d));
      EXPECT_NEAR(job.at(n, on).elasticity, by_difference, 2e-3 * (1 + std::abs(by_difference)))
          << n << ' ' << on;
    }
}

// Oracle: optimum interval of a mean of 21 h and checkpoints of 5 min lengthens the work by 9.4645 %.
TEST(ScalingJob, FailuresCostWhatTheOptimumIntervalCosts) {
  const ScalingJob job = job_of(
      Seconds{1}, {},
      FailureTerm{.node_mean_time = Seconds{1260 * 60.0}, .checkpoint = Seconds{300}, .restart = Seconds{0}});
  EXPECT_NEAR(1 / job.at(1, kEveryMechanism).throughput, 1.094645, 1e-6);
  EXPECT_DOUBLE_EQ(job.at(1, 0).throughput, 1);
}

// Without growing restarts N x goodput is highest where C = 0.796812 M, and one fifth is left.
TEST(ScalingJob, GoodputPeaksWhereTheCheckpointTakesMostOfTheTimeBetweenFailures) {
  const ScalingJob job =
      job_of(Seconds{1}, {}, FailureTerm{.node_mean_time = Seconds{100'000}, .checkpoint = Seconds{1}});
  const std::int64_t peak = 79'681;
  EXPECT_GT(job.at(peak - 100, kEveryMechanism).elasticity, 0);
  EXPECT_LT(job.at(peak + 100, kEveryMechanism).elasticity, 0);
  EXPECT_NEAR(job.at(peak, kEveryMechanism).throughput / static_cast<double>(peak), 0.203188, 1e-5);
}

// 0.2 and 0.3 alone, 0.7 together: 0.3 and 0.4.
TEST(ScalingJob, WhatMechanismsAddIsSharedOutWhole) {
  ScalingJob job{.mechanisms = {{"a", Reach::Flattens}, {"b", Reach::Flattens}}};
  job.at = [](std::int64_t, MechanismSet on) {
    const double added[] = {0, 0.2, 0.3, 0.7};
    return ThroughputPoint{1 / (1 + added[on & 3]), 1};
  };
  const Amplification two = amplification_of(job, 64);
  EXPECT_NEAR(two.whole, 1.7, 1e-12);
  EXPECT_NEAR(two.by[0].added, 0.3, 1e-12);
  EXPECT_NEAR(two.by[1].added, 0.4, 1e-12);

  const Amplification recipe = amplification_of(testing::recipe(), 4'116);
  double sum = 1;
  for (const Amplification::Share& share : recipe.by) sum += share.added;
  EXPECT_NEAR(sum, recipe.whole, 1e-9);
  EXPECT_GT(recipe.whole, 2);
  EXPECT_EQ(amplification_of(job_of(Seconds{1}, {}), 8).whole, 1);
}

}  // namespace
}  // namespace cox::forecast
