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

TEST(Resize, AFixedBatchHasNoOtherSize) {
  model::Scenario s = job(8, model::FabricKind::FullBisection);
  model::TrainingJob work;
  work.layout.data = 16;
  s.job.work = work;
  EXPECT_TRUE(check_resizable(s));
  std::get<model::TrainingJob>(s.job.work).global_batch = 64;
  ASSERT_FALSE(check_resizable(s));
  EXPECT_EQ(check_resizable(s).error().id, "forecast-004");
  EXPECT_NE(check_resizable(s).error().message.find("--scaling"), std::string::npos);
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
