// SPDX-License-Identifier: Apache-2.0
// Tensor and context groups whose messages meet others on links: cases solved by hand.
#include <gtest/gtest.h>

#include <string>

#include "cox/simulate/training.hpp"

#include "simulate/training/scenarios.hpp"

namespace cox::simulate {
namespace inner {
namespace {

using namespace testing;
using model::EngineKind;

const model::Link kGigabyte{.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(1)};

/// Layers of 1 ms forward and 2 ms backward, gradients of 4 MB and activations of 3 MB of each of two tensor ranks; a
/// megabyte takes a millisecond on every link.
model::Scenario job(model::Layout layout, int devices) {
  model::Scenario s = data_parallel(1, 2);
  work_of(s).layout = layout;
  work_of(s).optimizer = {};
  work_of(s).bucket = Bytes{1};  // one per layer
  for (model::Layer& l : work_of(s).layers) {
    l.gradients = Bytes{std::int64_t{layout.tensor} * 4'000'000};
    l.activations = Bytes{3'000'000};
  }
  s.cluster = cluster(layout.data * layout.tensor * layout.pipeline * layout.context / devices, devices);
  s.cluster.nics_per_node = devices;
  s.cluster.nic = kGigabyte;
  s.cluster.scale_up = kGigabyte;
  s.fabric.link = kGigabyte;
  s.inside = s.across = {.latency = {}, .per_byte = kGigabyte.bandwidth.time_per_byte()};
  s.engine = EngineKind::Flow;
  return s;
}

Outcome outcome(const model::Scenario& s) {
  auto out = simulate_training(s, {});
  EXPECT_TRUE(out) << out.error().to_string();
  return out ? *std::move(out) : Outcome{};
}
double ms(const model::Scenario& s) {
  return outcome(s).total.count() * 1e3;
}
double alone_ms(model::Scenario s) {
  s.engine = EngineKind::MaxPlus;
  return ms(s);
}
bool says(const std::vector<std::string>& lines, const std::string& what) {
  for (const std::string& line : lines)
    if (line.find(what) != std::string::npos) return true;
  return false;
}

// Forward: 1 ms and two all-reduces of 3 ms in each of two layers, 14 ms. Backward: 2 + 6 ms, and at 22 the first
// bucket leaves. It is alone for 2 ms, its first round; then its second round shares the cards with the next layer's
// all-reduces, of two rounds of 1.5 MB. The first of these takes until 27, the second one and the bucket halve the rate
// until 28, when the bucket is done; it ends at 29, the next all-reduce at 32, and the second bucket takes 4 ms.
TEST(InnerGroups, TensorPairsAcrossNodesAndBucketsShareTheCards) {
  const model::Scenario s = job({.data = 2, .tensor = 2}, 1);
  EXPECT_NEAR(ms(s), 36, 1e-9);
  EXPECT_NEAR(alone_ms(s), 34, 1e-9);
  EXPECT_EQ(outcome(s).engine, EngineKind::Flow);
  EXPECT_FALSE(says(outcome(s).not_modelled, "tensor"));
  EXPECT_TRUE(says(outcome(s).notes, "share the links"));
}

// In one node the same happens at the devices' ports.
TEST(InnerGroups, ReplicasInANodeShareItsPorts) {
  const model::Scenario s = job({.data = 2, .tensor = 2}, 4);
  EXPECT_NEAR(ms(s), 36, 1e-9);
  EXPECT_NEAR(alone_ms(s), 34, 1e-9);
}

// A tensor group inside a node keeps its ports to itself where replicas are in other nodes.
TEST(InnerGroups, InsideANodeNothingChanges) {
  model::Scenario s = job({.data = 2, .tensor = 2}, 2);
  EXPECT_NEAR(ms(s), 34, 1e-9);
  EXPECT_NEAR(alone_ms(s), 34, 1e-9);
  EXPECT_FALSE(says(outcome(s).notes, "share the links"));
  // Where the way inside is the one to the cards, it is shared.
  s.cluster.pcie = kGigabyte;
  s.cluster.scale_up = {};
  EXPECT_NEAR(ms(s), 36, 1e-9);
}

// Keys and values of 8 MB go round two context ranks in two nodes: one message of 4 MB each way, 4 ms. The groups of two
// tensor ranks that share a card take twice that. Tensor ranks sum 2 MB in 2 ms, twice in each direction.
TEST(InnerGroups, ContextGroupsBesideEachOtherShareACard) {
  model::Scenario s = job({.tensor = 2, .context = 2}, 2);
  work_of(s).layers.resize(1);
  work_of(s).layers.front().activations = Bytes{4'000'000};
  work_of(s).layers.front().gradients = {};
  const double each_way = 2 * 2;
  EXPECT_NEAR(ms(s), (1 + each_way + 4) + (2 + each_way + 2 * 4), 1e-9);
  s.cluster.nics_per_node = 1;
  EXPECT_NEAR(ms(s), (1 + each_way + 8) + (2 + each_way + 2 * 8), 1e-9);
  EXPECT_NEAR(alone_ms(s), (1 + each_way + 4) + (2 + each_way + 2 * 4), 1e-9);
}

TEST(InnerGroups, TheStepTakenApartAddsUpAndTheRunEndsAsTheStep) {
  for (const model::Scenario& s : {job({.data = 2, .tensor = 2}, 1), job({.data = 2, .tensor = 2}, 4),
                                   job({.data = 2, .tensor = 2, .pipeline = 2, .context = 2}, 2)}) {
    const auto step = analyse_step(s, 0);
    ASSERT_TRUE(step) << step.error().to_string();
    expect_adds_up(*step, "inner");
    EXPECT_GT(step->parts[static_cast<std::size_t>(StepPart::Tensor)], Seconds{});
    const auto recorded = simulate_training(s, {.want_run = true});
    ASSERT_TRUE(recorded);
    EXPECT_EQ(recorded->step_ends, outcome(s).step_ends);
  }
}

// Left to choose the engine, more messages than can be played soon are left alone, and the outcome says so.
TEST(InnerGroups, TooManyForAutoAreNamed) {
  model::Scenario s = job({.data = 64, .tensor = 8}, 16);
  s.fabric.kind = model::FabricKind::FatTree;
  s.fabric.oversubscription = 8;
  s.fabric.hosts_per_leaf = 8;
  work_of(s).layers.resize(256, work_of(s).layers.front());
  work_of(s).micro_batches = 8;
  s.engine = EngineKind::Auto;
  const auto plan = outcome(s);
  EXPECT_TRUE(says(plan.not_modelled, "--engine flow does it"));
}

}  // namespace
}  // namespace inner
}  // namespace cox::simulate
