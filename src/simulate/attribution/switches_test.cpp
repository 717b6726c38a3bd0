// SPDX-License-Identifier: Apache-2.0
#include "cox/simulate/switches.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cox/base/units_text.hpp"
#include "cox/simulate/attribution.hpp"

namespace cox::simulate {
namespace {

TEST(Mechanisms, AnIdealMachineHasNone) {
  EXPECT_TRUE(mechanisms_of({}).empty());
}

TEST(Mechanisms, AreSaidInAFewWords) {
  model::Scenario s;
  s.cluster.nodes = 2;
  s.fabric.oversubscription = 4;
  s.fabric.background_load = 0.5;
  s.fabric.routing = model::Routing::Ecmp;
  s.fabric.pause = true;
  s.failures.node_mtbf = Seconds{1e6};
  s.policy.kind = model::PolicyKind::LocalSgd;
  model::NoiseSource noise;
  noise.name = "jitter";
  noise.law = model::NoiseLaw::Pareto;
  noise.target = model::NoiseTarget::Message;
  s.noise.push_back(noise);
  s.fabric.kind = model::FabricKind::FatTree;
  s.fabric.hosts_per_leaf = 1;
  s.job.work = model::TrainingJob{.layout = {.data = 2}, .overlap_slowdown = 0.05};
  EXPECT_EQ(mechanisms_of(s),
            (std::vector<std::string>{"pareto noise, target message (jitter)", "4:1 oversubscription",
                                      "background load 50 %", "pause frames", "routing ecmp",
                                      "failures, their checkpoints and restarts", "policy local-sgd",
                                      "compute slowed by 5.0 % beside communication"}));
}

// What each is switched off by leaves the others as they draw.
TEST(Mechanisms, OfIterations) {
  model::Scenario s;
  s.cluster.devices_per_node = 4;
  s.job.work = model::IterationJob{};
  EXPECT_TRUE(mechanisms_of(s).empty());
  auto& job = s.job.as<model::IterationJob>();
  job.iteration = {.cores = 2,
                   .prepare = Seconds{1e-3},
                   .compute = Seconds{10e-3},
                   .jitter = model::JitterLaw::Lognormal,
                   .spread = 0.1,
                   .imbalance = model::Imbalance::Rotating,
                   .slow_ranks = 1,
                   .slow_factor = 2,
                   .time_slice = Seconds{0.5e-3}};
  job.pace = {{"mode", "auto"}};
  s.job.steps = 50;
  EXPECT_EQ(mechanisms_of(s),
            (std::vector<std::string>{"lognormal jitter of computation", "1 slow rank in turn, 2 times",
                                      "input of steps", "cores in slices of " + to_string(Seconds{0.5e-3}),
                                      "pacing auto"}));
  job.pace = {{"mode", "off"}};
  EXPECT_EQ(mechanisms_of(s).size(), 4U);
  const auto a = attribute(s, {});
  ASSERT_TRUE(a);
  EXPECT_NEAR(a->without.count(), 50 * 10e-3, 1e-12) << "computation alone";
  for (const MechanismCost& m : a->mechanisms) {
    if (m.name.starts_with("1 slow")) EXPECT_NEAR(m.alone.count(), 50 * 10e-3, 1e-12);
    if (m.name.starts_with("input")) EXPECT_NEAR(m.alone.count(), 50 * 2e-3, 1e-12) << "4 ranks on 2 cores";
    if (m.name.starts_with("cores")) EXPECT_EQ(m.alone, Seconds{}) << "nothing is done on them";
    if (m.name.starts_with("lognormal")) EXPECT_GT(m.alone, Seconds{});
  }
}

TEST(Mechanisms, OfLinksLeaveNothingOutOnOneNode) {
  model::Scenario s;
  s.job.work = model::TrainingJob{};
  s.job.places.rule = model::PlaceRule::Random;
  s.cluster.nodes = 2;
  s.cluster.devices_per_node = 2;
  s.engine = model::EngineKind::MaxPlus;
  EXPECT_EQ(unplayed_mechanisms(s, {}).size(), 1u);
  s.cluster.nodes = 1;
  EXPECT_TRUE(unplayed_mechanisms(s, {}).empty());
}

TEST(Mechanisms, PacingNeedsACommonStep) {
  model::Scenario s;
  model::TrainingJob job;
  job.pace = {{"mode", "auto"}};
  s.job.work = job;
  EXPECT_EQ(mechanisms_of(s), (std::vector<std::string>{"pacing auto"}));
  s.policy = {.kind = model::PolicyKind::Backup, .backups = 1};
  EXPECT_EQ(mechanisms_of(s), (std::vector<std::string>{"policy backup"}));
}

TEST(Mechanisms, OneNodeHasNoFabric) {
  model::Scenario s;
  s.fabric.background_load = 0.5;
  EXPECT_TRUE(mechanisms_of(s).empty());
}

// An option may have chosen an engine without links; the same is said as what nobody plays.
TEST(Mechanisms, WhatOnlyLinksHaveIsOnWhereTheyArePlayed) {
  model::Scenario s;
  s.cluster.nodes = 4;
  s.fabric.kind = model::FabricKind::FatTree;
  s.fabric.hosts_per_leaf = 2;
  s.fabric.oversubscription = 4;
  s.fabric.timeouts = {.wait = Seconds{1}, .loss = 0.1};
  s.neighbours = {{.name = "a"}, {.name = "late", .start = Seconds{5}}};
  const std::string timeouts = "time-outs of " + to_string(Seconds{1});
  const std::vector<std::string> all = {"4:1 oversubscription", timeouts, "neighbour a"};
  EXPECT_EQ(mechanisms_within(s, Seconds{5}), all);
  EXPECT_TRUE(unplayed_mechanisms(s, Seconds{5}).empty());
  const auto not_played = [&](const model::Scenario& one) {
    EXPECT_EQ(mechanisms_within(one, Seconds{5}), std::vector<std::string>{timeouts});
    EXPECT_EQ(unplayed_mechanisms(one, Seconds{5}),
              (std::vector<std::string>{"4:1 oversubscription", "neighbour a"}));
  };
  model::Scenario chosen = s;
  for (const auto engine : {model::EngineKind::MaxPlus, model::EngineKind::ClosedForm}) {
    chosen.engine = engine;
    not_played(chosen);
  }
  model::Scenario costs = s;
  costs.protocol = model::Protocol::LogGops;
  not_played(costs);
  costs = s;
  costs.price = model::CollectivePrice::Nccl;
  not_played(costs);
}

// Overlap is that of sums with others.
TEST(Mechanisms, ASingleReplicaHasNoOverlap) {
  model::Scenario s;
  s.job.work =
      model::TrainingJob{.overlap_slowdown = 0.05, .overlap_feedback = 0.5, .overlap_threshold = Seconds{1}};
  EXPECT_TRUE(mechanisms_of(s).empty());
  for (int model::Layout::*way : {&model::Layout::data, &model::Layout::context}) {
    model::Scenario two = s;
    std::get<model::TrainingJob>(two.job.work).layout.*way = 2;
    EXPECT_EQ(mechanisms_of(two).size(), 2U);
  }
}

TEST(Mechanisms, DipsOfATableAreSwitchedOffAndItsTimesKept) {
  model::Scenario s;
  s.price = model::CollectivePrice::Table;
  s.table.curves = {{.kind = model::Collective::AllReduce,
                     .ranks = 0,
                     .rows = {{.bytes = Bytes{1000}, .time = Seconds{1e-3}}}}};
  EXPECT_TRUE(mechanisms_of(s).empty());
  s.table.curves.front().rows.push_back(
      {.bytes = Bytes{2000}, .time = Seconds{2e-3}, .slow = Seconds{9e-3}, .probability = 0.1});
  EXPECT_EQ(mechanisms_of(s), std::vector<std::string>{"dips of measured times"});
  switch_off(switches_of(s), 0, s);
  EXPECT_TRUE(mechanisms_of(s).empty());
  EXPECT_EQ(s.table.curves.front().rows.back().time, Seconds{2e-3});
}

TEST(Mechanisms, CompressionIsOneOfAnyJobThatSends) {
  model::Scenario s;
  s.job.work = model::CollectiveJob{.compression = {.kind = model::Compressor::Sparse}};
  EXPECT_EQ(mechanisms_of(s), std::vector<std::string>{"sparse compression"});
  s.job.work = model::TrainingJob{.compression = {.kind = model::Compressor::Quantised}};
  EXPECT_EQ(mechanisms_of(s), std::vector<std::string>{"quantised compression"});
  switch_off(switches_of(s), 0, s);
  EXPECT_TRUE(mechanisms_of(s).empty());
}

// Each has a switch of its own, and leaves the others as they are in any combination.
TEST(Mechanisms, NeighboursAreSwitchedOffOneByOne) {
  model::Scenario s;
  s.cluster.nodes = 4;
  for (const char* name : {"a", "", "c"}) s.neighbours.push_back({.name = name});
  EXPECT_EQ(mechanisms_of(s), (std::vector<std::string>{"neighbour a", "neighbour 1", "neighbour c"}));
  const std::vector<Switch> switches = switches_of(s);
  for (unsigned on = 0; on < 8; ++on) {
    std::vector<std::string> want;
    for (unsigned i = 0; i < 3; ++i)
      if ((on >> i & 1) != 0) want.push_back(s.neighbours[i].name);
    model::Scenario some = s;
    switch_off(switches, on, some);
    std::vector<std::string> left;
    for (const model::Neighbour& n : some.neighbours) left.push_back(n.name);
    EXPECT_EQ(left, want) << on;
  }
}

// One that begins when the job is over did nothing, and keeps its number.
TEST(Mechanisms, NeighboursThatComeTooLateAreNotOn) {
  model::Scenario s;
  s.cluster.nodes = 4;
  s.neighbours = {{.start = Seconds{5}}, {.start = Seconds{1}}};
  EXPECT_EQ(mechanisms_within(s, Seconds{4}), std::vector<std::string>{"neighbour 1"});
  EXPECT_EQ(mechanisms_within(s, Seconds{6}), (std::vector<std::string>{"neighbour 0", "neighbour 1"}));
}

TEST(Mechanisms, AClassWithNothingButANameIsNone) {
  model::Scenario s;
  s.cluster.nodes = 4;
  s.job.as<model::CollectiveJob>().collective.ranks = 4;
  s.cluster.classes = {{.name = "named", .first = 0}, {.name = "slow", .first = 1, .speed = 0.5}};
  EXPECT_EQ(mechanisms_of(s), std::vector<std::string>{"class slow"});
}

}  // namespace
}  // namespace cox::simulate
