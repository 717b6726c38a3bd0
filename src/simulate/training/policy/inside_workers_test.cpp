// SPDX-License-Identifier: Apache-2.0
// What workers without a common step send between their own stages, experts and shards.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "simulate/training/scenarios.hpp"

namespace cox::simulate {
namespace {

using namespace testing;
using model::PolicyKind;

constexpr std::string_view kAlone = "in what a worker sends between its stages";

bool says(const std::vector<std::string>& lines, std::string_view part) {
  return std::ranges::any_of(lines, [&](const std::string& l) { return l.find(part) != std::string::npos; });
}

/// Two workers of two stages, a layer and a node each; 1 MB goes to the other stage and back, at 1 GB/s for nothing else. Servers get
/// nothing.
model::Scenario two_stages(PolicyKind kind) {
  model::Scenario s = pipeline(2, 2, 1);
  s.cluster = cluster(4, 1);
  s.cluster.nic = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(1)};
  s.fabric.link = s.cluster.nic;
  s.across = {.latency = {}, .per_byte = s.cluster.nic.bandwidth.time_per_byte()};
  work_of(s).layout = {.data = 2, .pipeline = 2};
  for (model::Layer& l : work_of(s).layers) {
    l.gradients = {};
    l.activations = Bytes{1'000'000};
  }
  s.policy = {.kind = kind};
  return s;
}

double ms(const model::Scenario& s) {
  const auto out = simulate_training(s, {});
  EXPECT_TRUE(out) << out.error().to_string();
  if (!out) return 0;
  EXPECT_FALSE(says(out->not_modelled, kAlone));
  return out->total.count() * 1e3;
}

constexpr PolicyKind kKinds[] = {PolicyKind::Asynchronous, PolicyKind::BoundedWait,
                                 PolicyKind::BoundedDiscard, PolicyKind::Backup};

// A step is 1 ms forward and 2 ms backward on each stage, and two messages: 6 + 2 x 1 ms on plain wires. The second worker's nodes have
// cards of 0.1 GB/s, and then it is done after 6 + 2 x 10.
TEST(InsideWorkers, MessagesBetweenStagesLeaveByTheCardsOfTheirNodes) {
  for (const PolicyKind kind : kKinds) {
    model::Scenario s = two_stages(kind);
    EXPECT_NEAR(ms(s), 6 + 2, 1e-9);
    s.cluster.classes = {{.name = "slow",
                          .first = 2,
                          .count = 2,
                          .nic = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(0.1)}}};
    EXPECT_NEAR(ms(s), 6 + 2 * 10, 1e-9) << static_cast<int>(kind);
  }
}

// A message of two links that has to be whole on the first before it goes on takes 2 ms, and 2 ms through switches of which others
// have half.
TEST(InsideWorkers, MessagesBetweenStagesGoThroughTheFabric) {
  for (const PolicyKind kind : kKinds) {
    model::Scenario s = two_stages(kind);
    s.fabric.switching = model::Switching::StoreAndForward;
    EXPECT_NEAR(ms(s), 6 + 2 * 2, 1e-9) << static_cast<int>(kind);
    s = two_stages(kind);
    s.fabric.kind = model::FabricKind::FatTree;
    s.fabric.hosts_per_leaf = 1;
    EXPECT_NEAR(ms(s), 6 + 2, 1e-9) << static_cast<int>(kind);
    s.fabric.background_load = 0.5;
    EXPECT_NEAR(ms(s), 6 + 2 * 2, 1e-9) << static_cast<int>(kind);
  }
}

// Tensor ranks of a stage send at once. With a card for both of a node each message takes 2 ms, and the line on what is priced alone is
// of the servers' messages.
TEST(InsideWorkers, RanksOfAStageShareTheirCard) {
  model::Scenario s = two_stages(PolicyKind::Asynchronous);
  s.cluster.devices_per_node = 2;
  s.cluster.nics_per_node = 1;
  s.cluster.scale_up = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(1e6)};
  s.inside = {};
  work_of(s).layout.tensor = 2;
  s.fabric.kind = model::FabricKind::FatTree;
  s.fabric.hosts_per_leaf = 4;
  for (model::Layer& l : work_of(s).layers) l.activations = Bytes{1'000'000};
  EXPECT_NEAR(ms(s), 6 + 2 * 2, 1e-2);  // and 8 all-reduces inside of 1 us or less
}

// One switch, or a tree that has a leaf for each node: the same cards and the same sharing of them, by hand and beside each other. Until these met on
// plain wires, too, each had a card to itself there (8 ms).
TEST(InsideWorkers, PlainWiresAreSharedAsATreeIs) {
  for (const PolicyKind kind : kKinds) {
    model::Scenario s = two_stages(kind);
    s.cluster.devices_per_node = 2;
    s.cluster.nics_per_node = 1;
    s.cluster.scale_up = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(1e6)};
    s.inside = {.latency = {}, .per_byte = s.cluster.scale_up.bandwidth.time_per_byte()};
    work_of(s).layout.tensor = 2;
    for (model::Layer& l : work_of(s).layers) l.gradients = Bytes{1000};
    const double wires = ms(s);
    EXPECT_NEAR(wires, 6 + 2 * 2, 2e-2) << static_cast<int>(kind);
    s.fabric.kind = model::FabricKind::FatTree;
    s.fabric.hosts_per_leaf = 1;
    EXPECT_NEAR(wires, ms(s), 1e-3) << static_cast<int>(kind);
  }
}

// Four stages on nodes of their own: activations from the stage before and gradients from the one behind come to a middle one at once.
TEST(InsideWorkers, TwoWaysOfAMiddleStageMeetOnPlainWires) {
  for (const PolicyKind kind : kKinds) {
    model::Scenario s = two_stages(kind);
    s.cluster.nodes = 8;
    work_of(s).layout.pipeline = 4;
    work_of(s).layers.resize(4, work_of(s).layers.front());
    for (model::Layer& l : work_of(s).layers) {
      l.backward = l.forward;
      l.activations = Bytes{2'000'000};
    }
    work_of(s).micro_batches = 8;
    const double wires = ms(s);
    s.fabric.kind = model::FabricKind::FatTree;
    s.fabric.hosts_per_leaf = 1;
    EXPECT_NEAR(wires, ms(s), 1e-6 * wires) << static_cast<int>(kind);
    s.fabric = {};
    s.fabric.link = s.cluster.nic;
    s.engine = model::EngineKind::MaxPlus;
    const auto alone = simulate_training(s, {});
    ASSERT_TRUE(alone) << alone.error().to_string();
    EXPECT_LT(alone->total.count() * 1e3, wires - 0.5) << static_cast<int>(kind);
    EXPECT_TRUE(says(alone->not_modelled, "from the stage before and the stage behind"));
  }
}

// Two exchanges forward, two backward, of 1 MB each way: 3 + 4 ms of 1 GB/s. The second replica of the worker has 0.1.
TEST(InsideWorkers, ExpertsExchangeByTheCardsOfTheirNodes) {
  for (const PolicyKind kind : kKinds) {
    model::Scenario s = two_stages(kind);
    s.cluster.nodes = 2;
    work_of(s).layout = {.data = 2, .expert = 2};
    work_of(s).moe_layers = 1;
    work_of(s).layers.resize(1);
    work_of(s).layers[0].activations = Bytes{2'000'000};
    EXPECT_NEAR(ms(s), 3 + 4, 1e-9);
    s.cluster.classes = {{.name = "slow",
                          .first = 1,
                          .count = 1,
                          .nic = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(0.1)}}};
    EXPECT_NEAR(ms(s), 3 + 4 * 10, 1e-9) << static_cast<int>(kind);
    // The same pair behind one that has 1 GB/s: the second worker is what takes time.
    s.cluster.nodes = 4;
    s.cluster.classes[0].first = 3;
    work_of(s).layout.data = 4;
    EXPECT_NEAR(ms(s), 3 + 4 * 10, 1e-9) << static_cast<int>(kind);
  }
}

// One worker is the whole job: its step is the synchronous one's, noise and losses of messages included, and its load as well.
TEST(InsideWorkers, OneWorkerIsTheSynchronousStep) {
  for (const bool lossy : {false, true}) {
    model::Scenario s = two_stages(PolicyKind::Synchronous);
    s.cluster.nodes = 4;
    work_of(s).layout = {.data = 2, .pipeline = 2, .expert = 2};
    work_of(s).moe_layers = 2;
    work_of(s).micro_batches = 4;
    s.job.steps = 3;
    s.fabric.kind = model::FabricKind::FatTree;
    s.fabric.hosts_per_leaf = 2;
    s.fabric.oversubscription = 2;
    s.fabric.background_load = 0.25;
    s.noise = {jitter(0.1), {.name = "late", .target = model::NoiseTarget::Message, .cv = 0.3}};
    if (lossy) s.fabric.timeouts = {.wait = Seconds{0.02}, .loss = 0.05};
    const auto together = simulate_training(s, {});
    s.policy = {.kind = PolicyKind::Asynchronous};
    const auto alone = simulate_training(s, {});
    ASSERT_TRUE(together) << together.error().to_string();
    ASSERT_TRUE(alone) << alone.error().to_string();
    // Replicas of a worker begin a step together, and end it so: the sum of nothing lets each begin alone.
    EXPECT_NEAR(alone->step_ends[0].count(), together->step_ends[0].count(),
                1e-9 * together->step_ends[0].count());
    EXPECT_GE(alone->total.count(), together->total.count() * (1 - 1e-9));
    ASSERT_EQ(alone->links.size(), together->links.size());
    for (std::size_t l = 0; l < alone->links.size(); ++l)
      EXPECT_EQ(alone->links[l].bytes, together->links[l].bytes) << alone->links[l].name;
  }
}

// The messages of a worker's own tensor and context groups do not share what its stages do, and that is said.
TEST(InsideWorkers, WhatItsGroupsSendIsPricedAloneAndSaid) {
  model::Scenario s = two_stages(PolicyKind::Asynchronous);
  s.cluster.nodes = 4;
  s.fabric.background_load = 0.5;
  constexpr std::string_view kGroups = "messages of tensor and context groups on links";
  auto out = simulate_training(s, {});
  ASSERT_TRUE(out) << out.error().to_string();
  EXPECT_FALSE(says(out->not_modelled, kGroups));
  work_of(s).layout = {.data = 1, .pipeline = 2, .context = 2};
  out = simulate_training(s, {});
  ASSERT_TRUE(out) << out.error().to_string();
  EXPECT_TRUE(says(out->not_modelled, kGroups));
  // Of groups that stay inside their nodes nothing is shared with stages that leave them, and of those that leave, the fabric's own is said.
  constexpr std::string_view kFabric =
      "store and forward, and cards of classes in what tensor and context groups";
  EXPECT_TRUE(says(out->not_modelled, kFabric));
  s.cluster.devices_per_node = 2;
  s.cluster.scale_up = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(100)};
  work_of(s).layout = {.data = 2, .tensor = 2, .pipeline = 2};
  out = simulate_training(s, {});
  ASSERT_TRUE(out) << out.error().to_string();
  EXPECT_FALSE(says(out->not_modelled, kGroups));
  EXPECT_FALSE(says(out->not_modelled, kFabric));
}

// Two workers whose ways may meet are played together (workers_together_test.cpp); with input, each has its way to itself, and that is said.
TEST(InsideWorkers, WhatTwoOfThemSendThroughOneLinkIsSaidBesideInput) {
  constexpr std::string_view kTwo =
      "messages that two workers send, each within itself, through one card or link";
  constexpr std::string_view kServers = "messages inside a worker on links that those to the servers cross";
  for (const PolicyKind kind : kKinds) {
    model::Scenario s = two_stages(kind);
    for (model::Layer& l : work_of(s).layers) l.gradients = Bytes{1000};
    s.fabric.kind = model::FabricKind::FatTree;
    s.fabric.hosts_per_leaf = 2;
    auto out = simulate_training(s, {});
    ASSERT_TRUE(out) << out.error().to_string();
    EXPECT_FALSE(says(out->not_modelled, kTwo)) << static_cast<int>(kind);
    EXPECT_FALSE(says(out->not_modelled, kServers)) << static_cast<int>(kind);
    work_of(s).input.prepare = Seconds{1e-3};
    out = simulate_training(s, {});
    ASSERT_TRUE(out) << out.error().to_string();
    EXPECT_TRUE(says(out->not_modelled, kTwo)) << static_cast<int>(kind);
    EXPECT_EQ(says(out->not_modelled, kServers), kind != PolicyKind::Backup) << static_cast<int>(kind);
  }
}

// An engine that plays no links says so.
TEST(InsideWorkers, WithoutLinksItIsSaid) {
  model::Scenario s = two_stages(PolicyKind::Asynchronous);
  s.fabric.background_load = 0.5;
  s.engine = model::EngineKind::Event;
  const auto out = simulate_training(s, {});
  ASSERT_TRUE(out) << out.error().to_string();
  EXPECT_NEAR(out->total.count(), 8e-3, 1e-12);
  EXPECT_TRUE(says(out->not_modelled, kAlone));
}

}  // namespace
}  // namespace cox::simulate
