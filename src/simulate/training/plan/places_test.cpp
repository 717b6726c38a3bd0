// SPDX-License-Identifier: Apache-2.0
// Training jobs on places that are not alike, beside others: solved by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cox/simulate/outcome.hpp"
#include "cox/simulate/render.hpp"
#include "cox/simulate/training.hpp"

#include "simulate/training/scenarios.hpp"

namespace cox::simulate {
namespace {

using namespace testing;
using model::EngineKind;

/// Workers of 1 GB/s each on one switch; two layers of 1 ms forward and 2 ms backward, 4 MB of gradients each, reduced
/// after the backward pass in one bucket.
model::Scenario job(int nodes, int devices = 1, model::Layout layout = {}) {
  model::Scenario s = data_parallel(nodes, 2);
  s.cluster = cluster(nodes, devices);
  s.cluster.nics_per_node = devices;
  s.cluster.nic = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(1)};
  s.cluster.scale_up = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(1000)};
  s.fabric.link = s.cluster.nic;
  s.inside = {.latency = {}, .per_byte = Bandwidth::gbyte_per_s(1000).time_per_byte()};
  s.across = {.latency = {}, .per_byte = Bandwidth::gbyte_per_s(1).time_per_byte()};
  layout.data = nodes * devices / (layout.tensor * layout.pipeline * layout.context);
  work_of(s).layout = layout;
  work_of(s).overlap = false;
  work_of(s).optimizer = {};
  for (model::Layer& l : work_of(s).layers) l.gradients = Bytes{4'000'000};
  return s;
}

Outcome ran(const model::Scenario& s) {
  const auto made = simulate(s, {});
  EXPECT_TRUE(made) << s.name << ": " << made.error().to_string();
  return made ? *made : Outcome{};
}

double total_ms(const model::Scenario& s) {
  return ran(s).total.count() * 1e3;
}

bool says(const std::vector<std::string>& lines, const std::string& part) {
  return std::ranges::any_of(lines, [&](const std::string& l) { return l.find(part) != std::string::npos; });
}

constexpr double kRing = 2 * 3 / 4.0 * 8;  // ms of an all-reduce of 8 MB over four workers

// One node of half the speed: all wait for it, and the step is that of a cluster of slow nodes.
TEST(TrainingPlaces, OneSlowNodeSetsThePace) {
  model::Scenario s = job(4);
  EXPECT_NEAR(total_ms(s), 6 + kRing, 1e-9);
  s.cluster.classes = {{.name = "old", .first = 2, .count = 1, .speed = 0.5}};
  const Outcome one = ran(s);
  EXPECT_NEAR(one.total.count() * 1e3, 12 + kRing, 1e-9);
  EXPECT_TRUE(says(one.notes, "class old (nodes 2 to 2) sets the pace")) << one.notes.back();
  s.cluster.classes[0] = {.name = {}, .first = 0, .count = 4, .speed = 0.5};
  EXPECT_NEAR(total_ms(s), 12 + kRing, 1e-9);
}

// Noise is of what a device of its class computes.
TEST(TrainingPlaces, NoiseOnASlowNodeIsOfItsOwnTime) {
  model::Scenario s = job(4);
  s.cluster.classes = {{.name = {}, .first = 2, .count = 1, .speed = 0.5}};
  s.noise = {slow_rank(2, 0.5)};
  EXPECT_NEAR(total_ms(s), 18 + kRing, 1e-9);
  s.noise = {slow_rank(0, 0.5)};
  EXPECT_NEAR(total_ms(s), 12 + kRing, 1e-9);
}

// A card of half the rate holds up every round of the ring.
TEST(TrainingPlaces, OneSlowCard) {
  model::Scenario s = job(4);
  s.cluster.classes = {
      {.name = {}, .first = 1, .count = 1, .nic = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(0.5)}}};
  for (const EngineKind e : {EngineKind::Auto, EngineKind::Flow}) {
    s.engine = e;
    EXPECT_NEAR(total_ms(s), 6 + 2 * kRing, 1e-9);
  }
}

// Two data groups, each device with a card of its own; then both on card 0, which halves what each gets.
TEST(TrainingPlaces, DevicesOnTheWrongCard) {
  model::Scenario s = job(4, 2, {.tensor = 2});
  const double ring = kRing / 2;  // each tensor rank reduces its half
  EXPECT_NEAR(total_ms(s), 6 + ring, 1e-9);
  s.cluster.nic_of = {0, 0};
  EXPECT_NEAR(total_ms(s), 6 + 2 * ring, 1e-9);
  s.cluster.nic_of = {1, 0};
  EXPECT_NEAR(total_ms(s), 6 + ring, 1e-9);  // each still has one
  s.cluster.bridge.bandwidth = Bandwidth::gbyte_per_s(0.5);
  EXPECT_NEAR(total_ms(s), 6 + 4 * ring, 1e-9);  // both cross one bridge of half the rate
  s.cluster.sockets = 2;
  EXPECT_NEAR(total_ms(s), 6 + ring, 1e-9);  // no bridge on the way any more
  s.cluster.socket = {.latency = Seconds{1e-5}, .bandwidth = {}};
  EXPECT_NEAR(total_ms(s), 6 + ring + 6 * 2 * 0.01,
              1e-9);  // out of the one node and into the other, six rounds
  // On one node only, in a class.
  s.cluster.nic_of.clear();
  s.cluster.socket = {};
  s.cluster.classes = {{.name = {}, .first = 3, .count = 1, .nic_of = {0, 0}}};
  EXPECT_NEAR(total_ms(s), 6 + 2 * ring, 1e-9);
}

// Two data-parallel ranks a node: packed, every second message stays inside; scattered, all cross, two at a time.
TEST(TrainingPlaces, Scattered) {
  model::Scenario s = job(2, 2);
  s.cluster.nics_per_node = 1;
  EXPECT_NEAR(total_ms(s), 6 + kRing, 1e-9);
  s.job.places.rule = model::PlaceRule::Scattered;
  EXPECT_NEAR(total_ms(s), 6 + 2 * kRing, 1e-9);
  work_of(s).collective = {.algorithm = model::Algorithm::Hierarchical2, .group = 1};
  EXPECT_TRUE(says(ran(s).notes, "no two members surely share a node"));
}

// A part of the cluster, in any order of its nodes.
TEST(TrainingPlaces, OnSomeNodes) {
  model::Scenario s = job(4);
  s.cluster.nodes = 16;
  s.job.places.nodes = {3, 9, 1, 15};
  EXPECT_NEAR(total_ms(s), 6 + kRing, 1e-9);
  s.cluster.classes = {{.name = {}, .first = 4, .count = 4, .speed = 0.5}};
  EXPECT_NEAR(total_ms(s), 6 + kRing, 1e-9);  // none of its nodes
  s.cluster.classes[0].first = 8;
  EXPECT_NEAR(total_ms(s), 12 + kRing, 1e-9);
}

// Random places differ by seed: a replica is what its seed alone gives.
TEST(TrainingPlaces, RandomOnesAreOfTheSeed) {
  model::Scenario s = job(32);
  s.fabric.kind = model::FabricKind::FatTree;
  s.fabric.hosts_per_leaf = 4;
  s.fabric.oversubscription = 4;
  s.job.places.rule = model::PlaceRule::Random;
  s.replicas = 3;
  const Outcome all = ran(s);
  double sum = 0;
  s.replicas = 1;
  for (int i = 0; i < 3; ++i) {
    sum += total_ms(s);
    ++s.seed;
  }
  EXPECT_NEAR(all.over_replicas.mean.count() * 1e3, sum / 3, 1e-9);
  EXPECT_NE(all.over_replicas.p50, all.over_replicas.p99);
}

// Beside a neighbour that has half of the up-link; the clock goes on from step to step.
TEST(TrainingPlaces, BesideANeighbour) {
  model::Scenario s = job(4);
  s.cluster.nodes = 8;
  s.cluster.nic.bandwidth = Bandwidth::gbyte_per_s(10);
  s.fabric.kind = model::FabricKind::FatTree;
  s.fabric.hosts_per_leaf = 4;
  s.fabric.oversubscription = 4;
  s.job.places.nodes = {0, 1, 4, 5};
  s.job.steps = 3;
  const double alone = total_ms(s);
  EXPECT_NEAR(alone, 3 * (6 + kRing), 1e-9);
  model::Neighbour flow;
  flow.nodes = {2, 6};
  flow.bytes = Bytes{1'000'000'000};
  s.neighbours = {flow};
  EXPECT_NEAR(total_ms(s), 3 * (6 + 2 * kRing), 1e-9);
  // A burst of 3 MB as the second step's all-reduce begins: 3 ms of the link.
  s.neighbours[0].bytes = Bytes{3'000'000};
  s.neighbours[0].period = Seconds{10};
  s.neighbours[0].start = Seconds{(6 + kRing + 6) * 1e-3};
  const Outcome once = ran(s);
  EXPECT_NEAR(once.total.count() * 1e3, alone + 3, 1e-9);
  EXPECT_NEAR((once.step_ends[1] - once.step_ends[0]).count() * 1e3, 6 + kRing + 3, 1e-9);
  EXPECT_EQ(once.neighbours.at(0).done, 1);
  EXPECT_NEAR(once.neighbours.at(0).mean.count() * 1e3, 6, 1e-9);
  EXPECT_NEAR(once.neighbours.at(0).alone.count() * 1e3, 3, 1e-9);
  EXPECT_FALSE(says(once.not_modelled, "begin up to"));
}

// A Run says the same times, and where each rank sits.
TEST(TrainingPlaces, TheRunOfAPlacedJob) {
  model::Scenario s = job(2, 2);
  s.job.steps = 2;
  s.job.places.rule = model::PlaceRule::Scattered;
  const auto made = simulate(s, {.want_run = true});
  ASSERT_TRUE(made && made->run);
  EXPECT_EQ(made->total, ran(s).total);
  for (int r = 0; r < 4; ++r) {
    EXPECT_EQ(made->run->ranks[static_cast<std::size_t>(r)].node, NodeId{r % 2});
    EXPECT_EQ(made->run->ranks[static_cast<std::size_t>(r)].local_rank, LocalRank{r / 2});
  }
  s.neighbours.push_back({.name = "n", .nodes = {0, 1}, .bytes = Bytes{1'000'000}, .period = Seconds{1e-3}});
  const auto beside = simulate(s, {.want_run = true});
  ASSERT_TRUE(beside);
  EXPECT_EQ(beside->total, ran(s).total);
}

// Pipelines, experts and sharding beside a neighbour end, and say by how much a step was begun late.
TEST(TrainingPlaces, AllKindsOfJobsBesideANeighbour) {
  for (model::Scenario s : assorted()) {
    if (s.cluster.nodes == 1) continue;
    s.cluster.nic = {.latency = Seconds{1e-6}, .bandwidth = Bandwidth::gbyte_per_s(25)};
    s.cluster.scale_up = {.latency = Seconds{1e-6}, .bandwidth = Bandwidth::gbyte_per_s(300)};
    s.fabric.link = s.cluster.nic;
    s.engine = EngineKind::Flow;
    const double alone = total_ms(s);
    s.neighbours.push_back({.name = "n", .nodes = {0, s.cluster.nodes - 1}, .bytes = Bytes{500'000'000}});
    const double beside = total_ms(s);
    EXPECT_GT(beside, alone * (1 + 1e-6)) << s.name;
    // So few bytes that nothing is lost: the clock that goes on gives what steps of their own give, but for ranks
    // that begin before others have ended.
    s.neighbours[0].bytes = Bytes{1};
    s.neighbours[0].period = Seconds{1000};
    const Outcome idle = ran(s);
    EXPECT_NEAR(idle.total.count() * 1e3, alone, 2e-2 * alone) << s.name;
  }
}

TEST(TrainingPlaces, WhatPlaysNoLinksRefusesThem) {
  model::Scenario s = job(2, 2);
  s.job.places.rule = model::PlaceRule::Scattered;
  s.engine = EngineKind::MaxPlus;
  const auto made = simulate(s, {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().id, "simulate-003");
  // Each meeting of backup workers has a network of its own: neighbours have no clock with them.
  s.policy = {.kind = model::PolicyKind::Backup, .backups = 1};
  s.engine = EngineKind::Auto;
  EXPECT_TRUE(simulate(s, {}));
  s.neighbours.push_back({.name = "n", .nodes = {0, 1}, .bytes = Bytes{1'000'000}});
  const auto beside = simulate(s, {});
  ASSERT_FALSE(beside);
  EXPECT_EQ(beside.error().id, "simulate-003");
}

constexpr const char* kShared = "share 1 network interface";

/// `job` on nodes whose devices share one card, by max-plus and by flow.
std::pair<Outcome, Outcome> on_one_card(model::Scenario s) {
  s.cluster.nics_per_node = 1;
  s.engine = EngineKind::MaxPlus;
  Outcome cheap = ran(s);
  s.engine = EngineKind::Flow;
  return {std::move(cheap), ran(s)};
}

// What is said not to be modelled is what differs: one group whose rounds are regular is priced.
TEST(TrainingPlaces, CardsThatAreSharedAsTheyArePricedAreNotSaidToBeLeftOut) {
  using enum model::Algorithm;
  for (const auto& [algorithm, zero] :
       {std::pair{Ring, 0}, {Ring, 3}, {Hierarchical2, 0}, {HalvingDoubling, 0}}) {
    model::Scenario s = job(4, 2);
    work_of(s).collective.algorithm = algorithm;
    work_of(s).zero_stage = zero;
    for (model::Layer& l : work_of(s).layers) l.gradients = Bytes{8'000'000};
    const auto [cheap, exact] = on_one_card(s);
    EXPECT_NEAR(cheap.total.count(), exact.total.count(), 1e-6 * exact.total.count()) << name_of(algorithm);
    EXPECT_FALSE(says(cheap.not_modelled, kShared)) << name_of(algorithm) << ", zero_stage " << zero;
  }
}

TEST(TrainingPlaces, GroupsThatMeetAtACardAreSaidToBeLeftOut) {
  for (const model::Layout& layout : {model::Layout{.tensor = 2}, {.pipeline = 2}}) {
    const auto [cheap, exact] = on_one_card(job(4, 2, layout));
    EXPECT_LT(cheap.total.count(), exact.total.count() * (1 - 1e-3)) << layout.tensor;
    EXPECT_TRUE(says(cheap.not_modelled, kShared)) << layout.tensor;
    EXPECT_TRUE(says(cheap.not_modelled, "--engine flow does it"));
  }
  model::Scenario s = job(4, 2);
  work_of(s).collective.algorithm = model::Algorithm::BinomialTree;
  EXPECT_TRUE(says(on_one_card(s).first.not_modelled, kShared)) << "lists";
  // Nobody knows who is next to whom where some are not waited for, unless links are played.
  s.policy = {.kind = model::PolicyKind::Backup, .backups = 1};
  s.cluster.nics_per_node = 1;
  s.engine = EngineKind::Event;
  const Outcome backup = ran(s);
  EXPECT_TRUE(says(backup.not_modelled, kShared));
  EXPECT_TRUE(says(backup.not_modelled, "--engine flow"));
  s.engine = EngineKind::Flow;
  EXPECT_FALSE(says(ran(s).not_modelled, kShared));
}

TEST(TrainingPlaces, HintsNameWhatTheJobMaySay) {
  // Channels are refused where workers have no common step.
  model::Scenario s = job(4, 2);
  EXPECT_TRUE(says(ran(s).notes, "job.collective.channels = 2"));
  for (const model::PolicySpec& policy : {model::PolicySpec{.kind = model::PolicyKind::Backup, .backups = 1},
                                          {.kind = model::PolicyKind::Asynchronous}}) {
    s.policy = policy;
    EXPECT_FALSE(says(ran(s).notes, "job.collective.channels")) << name_of(policy.kind);
  }
  // Exchanges have no time in NCCL's model, and flow does not run it.
  s = job(4, 2);
  work_of(s).layout.expert = 4;
  work_of(s).moe_layers = 1;
  for (model::Layer& l : work_of(s).layers) l.activations = Bytes{1'000'000};
  s.engine = EngineKind::MaxPlus;
  EXPECT_TRUE(says(ran(s).not_modelled, "one goes after the other (--engine flow does it)"));
  s.engine = EngineKind::Auto;
  s.price = model::CollectivePrice::Nccl;
  s.nccl.inside = s.nccl.across = Bandwidth::gbyte_per_s(1);
  EXPECT_TRUE(says(ran(s).not_modelled, "one goes after the other"));
  EXPECT_FALSE(says(ran(s).not_modelled, "--engine flow"));
  // No sum of gradients, no note of what it takes.
  work_of(s).layout.expert = 1;
  work_of(s).moe_layers = 0;
  EXPECT_TRUE(says(ran(s).notes, "NCCL's tuning model"));
  s.policy.kind = model::PolicyKind::Asynchronous;
  EXPECT_FALSE(says(ran(s).notes, "NCCL's tuning model"));
}

TEST(TrainingPlaces, NoiseOnMessagesIsNotSaidToStretchComputation) {
  model::Scenario s = job(4);
  s.noise = {jitter(0.1)};
  EXPECT_TRUE(says(ran(s).notes, "compute noise"));
  s.noise[0].target = model::NoiseTarget::Bandwidth;
  EXPECT_FALSE(says(ran(s).notes, "compute noise"));
}

// Two of four nodes at half the speed: of 100 TFLOP/s a device can do 75 on average, and utilisation is a part of that.
TEST(TrainingPlaces, UtilisationIsOfWhatUnlikeNodesCanDo) {
  model::Scenario s = job(4);
  s.cluster.device_peak = FlopRate::flops_per_s(100e12);
  work_of(s).flops = Flops{100e12 * 6e-3};
  const Outcome alike = ran(s);
  ASSERT_TRUE(alike.mfu);
  EXPECT_NEAR(*alike.mfu, 6 / (6 + kRing), 1e-9);
  EXPECT_EQ(alike.mfu_peak, s.cluster.device_peak);
  s.cluster.classes = {{.name = "old", .first = 2, .count = 2, .speed = 0.5}};
  const Outcome mixed = ran(s);
  EXPECT_NEAR(*mixed.mfu, 6 / (12 + kRing) / 0.75, 1e-9);
  EXPECT_NEAR(mixed.mfu_peak.in_flops_per_s(), 75e12, 1);
  EXPECT_TRUE(says(text_lines(s, mixed), "of 75.0 TFLOP/s a device, the mean of unlike nodes"));
  EXPECT_NE(to_json("f.toml", s, mixed).find("\"mfu_peak_flops_per_s\": 75000000000000.0"),
            std::string::npos);
  EXPECT_EQ(to_json("f.toml", s, alike).find("mfu_peak"), std::string::npos);
}

}  // namespace
}  // namespace cox::simulate
