// SPDX-License-Identifier: Apache-2.0
#include "learn/drive/compute_times.hpp"

#include <gtest/gtest.h>

#include "learn/drive/job_for_tests.hpp"
#include "learn/drive/prices.hpp"

namespace cox::learn {
namespace {

TEST(ComputeTimes, AreTheJobsWithoutMessages) {
  const auto even = ComputeTimes::make(testing::job(3), 5, 1);
  ASSERT_TRUE(even);
  EXPECT_EQ(even->workers(), 3);
  for (int w = 0; w < 3; ++w)
    for (int k = 0; k < 5; ++k) EXPECT_NEAR(even->of(w, k).count(), 0.03, 1e-12);
  model::Scenario uneven = testing::job(3);
  testing::make_uneven(uneven, 0.5);
  const auto drawn = ComputeTimes::make(uneven, 5, 1);
  const auto other = ComputeTimes::make(uneven, 5, 2);
  ASSERT_TRUE(drawn && other);
  EXPECT_NE(drawn->of(0, 0), drawn->of(1, 0));
  EXPECT_NEAR(drawn->of(0, 0).count(), drawn->of(0, 4).count(), 1e-9) << "slow for good";
  EXPECT_NE(drawn->of(0, 0), other->of(0, 0));
}

TEST(ComputeTimes, RefuseStepsThatAreMoreThanComputing) {
  const auto why = [](const model::Scenario& s) {
    const auto made = ComputeTimes::make(s, 2, 1);
    return made ? std::string() : made.error().message;
  };
  model::Scenario tensor = testing::job(4);
  tensor.job.as<model::TrainingJob>().layout = {.data = 2, .tensor = 2};
  EXPECT_NE(why(tensor).find("replicas of several devices"), std::string::npos);
  model::Scenario sharded = testing::job(4);
  sharded.job.as<model::TrainingJob>().zero_stage = 3;
  EXPECT_NE(why(sharded).find("zero_stage 3"), std::string::npos);
  model::Scenario noisy = testing::job(4);
  noisy.noise.emplace_back();
  noisy.noise.back().target = model::NoiseTarget::Message;
  noisy.noise.back().mean_ratio = 0.5;
  EXPECT_NE(why(noisy).find("noise disturbs messages"), std::string::npos);
  model::Scenario fed = testing::job(4);
  fed.job.as<model::TrainingJob>().input.prepare = Seconds{1e-3};
  EXPECT_NE(why(fed).find("input takes time"), std::string::npos);
  model::Scenario daemon = testing::job(4);
  daemon.noise.emplace_back();
  daemon.noise.back().pattern = model::NoisePattern::Periodic;
  daemon.noise.back().period = Seconds{1};
  EXPECT_NE(why(daemon).find("by the clock"), std::string::npos);
  model::Scenario placed = testing::job(4);
  placed.job.places.nodes = {0, 1, 3};
  EXPECT_NE(why(placed).find("links that are played, which this policy"), std::string::npos) << why(placed);
}

// 80 MB at 25 GB/s: 3.2 ms and 10 us; a ring of 4 sends 6 quarters.
TEST(Prices, AreTheFormulas) {
  const model::Scenario s = testing::job(4);
  const Prices dense(s, {});
  EXPECT_NEAR(dense.message().count(), 3.2e-3 + 10e-6, 1e-12);
  EXPECT_NEAR(dense.sum(4).count(), 6 * (0.8e-3 + 10e-6), 1e-9);
  EXPECT_EQ(dense.sum(1), Seconds{});
  const Prices packed(s, {.kind = model::Compressor::Quantised, .bits = 8});
  EXPECT_NEAR(packed.occupied().count(), 0.8e-3, 1e-9);
  EXPECT_NEAR(packed.parameters().count(), dense.parameters().count(), 1e-12) << "nothing packs these";
  model::Scenario dense_nodes = testing::job(4);
  dense_nodes.cluster.nodes = dense_nodes.cluster.devices_per_node = 2;
  EXPECT_LT(Prices(dense_nodes, {}).sum(2), Prices(dense_nodes, {}).sum(2, 2)) << "inside a node, or across";
}

}  // namespace
}  // namespace cox::learn
