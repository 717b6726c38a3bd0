// SPDX-License-Identifier: Apache-2.0
#include "forecast/scenario/resize.hpp"

#include <gtest/gtest.h>

namespace cox::forecast {
namespace {

model::Scenario job(int nodes, model::FabricKind kind) {
  model::Scenario s;
  s.name = "job";
  s.cluster.nodes = nodes;
  s.cluster.devices_per_node = 2;
  s.fabric.kind = kind;
  model::CollectiveJob work;
  work.collective.ranks = 2 * nodes;
  s.job.work = work;
  return s;
}

TEST(Resize, ATorusKeepsItsDimensionsAndTheSmallestSum) {
  model::Scenario s = job(64, model::FabricKind::Torus);
  s.fabric.torus = {4, 4, 4};
  EXPECT_TRUE(check_resizable(s));
  EXPECT_EQ(resized(s, 256).fabric.torus, (std::vector<int>{4, 4, 8}));
  EXPECT_EQ(resized(s, 432).fabric.torus, (std::vector<int>{6, 6, 6}));
  EXPECT_EQ(resized(s, 14).fabric.torus, (std::vector<int>{1, 1, 7}));
  s.fabric.torus = {16, 2, 2};
  EXPECT_EQ(check_resizable(s).error().id, "forecast-004");
}

/// 16 replicas of one layer.
model::Scenario training() {
  model::Scenario s = job(8, model::FabricKind::FullBisection);
  model::TrainingJob work;
  work.layout.data = 16;
  work.layers = {
      {.forward = Seconds{2}, .backward = Seconds{4}, .gradients = Bytes{100}, .activations = Bytes{40}}};
  work.optimizer = Seconds{1};
  s.job.work = work;
  return s;
}

TEST(Resize, AFixedBatchIsStrongScaling) {
  model::Scenario s = training();
  EXPECT_TRUE(check_resizable(s));
  std::get<model::TrainingJob>(s.job.work).global_batch = 64;
  const auto refused = check_resizable(s);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().id, "forecast-004");
  EXPECT_NE(refused.error().hint.find("--scaling strong"), std::string::npos);
  EXPECT_TRUE(check_resizable(s, Scaling::Strong));
}

TEST(Resize, AFixedBatchIsSharedOutInWholeMicroBatches) {
  model::Scenario s = training();
  auto& work = s.job.as<model::TrainingJob>();
  work.global_batch = 64;
  work.micro_batches = 4;
  const auto at = [&](std::int64_t ranks) {
    return resized(s, ranks, Scaling::Strong).job.as<model::TrainingJob>();
  };
  EXPECT_EQ(at(32).micro_batches, 2);
  EXPECT_EQ(at(4).micro_batches, 16);
  EXPECT_EQ(at(32).layers.at(0).forward, Seconds{2}) << "each as long";
  EXPECT_EQ(not_shared_out(s, 64), "");
  EXPECT_EQ(not_shared_out(s, 24),
            "job.global_batch = 64 cannot be shared out among 24 replicas in micro-batches of 1");
  EXPECT_FALSE(not_shared_out(s, 128).empty()) << "less than one each";
  work.sequences = 2;
  EXPECT_FALSE(not_shared_out(s, 64).empty());
  EXPECT_EQ(at(32).micro_batches, 1);
}

TEST(Resize, ASizeHasTheRanksThatNoiseNames) {
  model::Scenario s = training();
  s.noise = {{.name = "two slow ranks", .ranks = {3, 11}}};
  EXPECT_EQ(no_such_size(s, 12), "");
  EXPECT_EQ(no_such_size(s, 8), "two slow ranks names rank 11, expected 0 to 7");
  s.noise.front().name.clear();
  EXPECT_EQ(no_such_size(s, 11), "[[noise]] names rank 11, expected 0 to 10");
}

TEST(Resize, StrongScalingDividesWhatGoesWithSequences) {
  const model::Scenario s = training();
  const auto more = resized(s, 64, Scaling::Strong).job.as<model::TrainingJob>();
  EXPECT_EQ(more.layers.at(0).forward, Seconds{0.5});
  EXPECT_EQ(more.layers.at(0).backward, Seconds{1});
  EXPECT_EQ(more.layers.at(0).activations, Bytes{10});
  EXPECT_EQ(more.layers.at(0).gradients, Bytes{100});
  EXPECT_EQ(more.optimizer, Seconds{1});
  EXPECT_EQ(resized(s, 8, Scaling::Strong).job.as<model::TrainingJob>().layers.at(0).forward, Seconds{4});
  EXPECT_EQ(resized(s, 64).job.as<model::TrainingJob>().layers.at(0).forward, Seconds{2}) << "weak";
  model::Scenario collective = job(8, model::FabricKind::FullBisection);
  collective.job.as<model::CollectiveJob>().compute = Seconds{1};
  EXPECT_EQ(resized(collective, 64, Scaling::Strong).job.as<model::CollectiveJob>().compute, Seconds{0.25});
}

TEST(Resize, ADragonflyGetsMoreGroups) {
  model::Scenario s = job(72, model::FabricKind::Dragonfly);
  s.fabric.dragonfly_groups = 9;
  s.fabric.dragonfly_routers = 4;
  s.fabric.dragonfly_hosts = 2;
  EXPECT_TRUE(check_resizable(s));
  EXPECT_EQ(resized(s, 144).fabric.dragonfly_groups, 9);
  EXPECT_EQ(resized(s, 1024).fabric.dragonfly_groups, 64);
  EXPECT_EQ(resized(s, 2).fabric.dragonfly_groups, 1);
}

TEST(Resize, ClassesKeepTheirPartOfTheNodes) {
  model::Scenario s = job(16, model::FabricKind::FullBisection);
  s.cluster.classes = {{.name = "old", .first = 12, .count = 4, .speed = 0.8}};
  EXPECT_TRUE(check_resizable(s));
  EXPECT_EQ(resized(s, 128).cluster.classes.at(0).count, 16);
  EXPECT_EQ(resized(s, 32).cluster.classes.at(0).first, 12) << "its own size is as it was";
  EXPECT_EQ(resized(s, 2).cluster.classes.at(0).count, 1) << "rounded up";
}

TEST(Resize, WhatNamesNodesHasNoOtherSize) {
  model::Scenario s = job(16, model::FabricKind::FullBisection);
  s.job.places.rule = model::PlaceRule::Scattered;
  EXPECT_TRUE(check_resizable(s)) << "a rule places any number of ranks";
  s.job.places.nodes = {1, 2};
  EXPECT_FALSE(check_resizable(s));
  s = job(16, model::FabricKind::FullBisection);
  s.neighbours.emplace_back();
  EXPECT_FALSE(check_resizable(s));
  EXPECT_FALSE(check_resizable(job(16, model::FabricKind::Graph)));
}

TEST(Resize, AJobGrowsByWholeReplicasAndGroupsOfExperts) {
  model::Scenario s = job(16, model::FabricKind::FullBisection);
  model::TrainingJob work;
  work.layout = {.data = 4, .tensor = 2, .pipeline = 4, .expert = 2};
  s.job.work = work;
  EXPECT_EQ(unit_of(s), 16);
  EXPECT_EQ(resized(s, 64).job.as<model::TrainingJob>().layout.data, 8);
  s.cluster.classes = {{.name = "old", .count = 4, .speed = 0.8}};
  EXPECT_FALSE(check_resizable(s)) << "stages on classes";
}

}  // namespace
}  // namespace cox::forecast
