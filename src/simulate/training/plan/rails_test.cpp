// SPDX-License-Identifier: Apache-2.0
// Collectives of a training step over the rails of its nodes, against what docs/concepts/training-steps.md
// calculates by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "cox/simulate/training.hpp"

#include "simulate/training/scenarios.hpp"

namespace cox::simulate {
namespace {

using namespace testing;
using enum model::Algorithm;

/// DGX H100: eight devices of 450 GB/s and eight cards of 50 GB/s a node.
model::Scenario rails(int nodes) {
  model::Scenario s = data_parallel(8 * nodes, 1);
  s.cluster = cluster(nodes, 8);
  s.cluster.scale_up = {.latency = Seconds{0.6e-6}, .bandwidth = Bandwidth::gbyte_per_s(450)};
  s.cluster.nics_per_node = 8;
  s.cluster.nic = {.latency = Seconds{1.35e-6}, .bandwidth = Bandwidth::gbyte_per_s(50)};
  s.inside = {.latency = Seconds{0.6e-6}, .per_byte = Bandwidth::gbyte_per_s(450).time_per_byte()};
  s.across = {.latency = Seconds{2.7e-6}, .per_byte = Bandwidth::gbyte_per_s(50).time_per_byte()};
  work_of(s).optimizer = {};
  work_of(s).layers[0] = {.forward = {}, .backward = {}, .gradients = Bytes{438'000'000}, .activations = {}};
  return s;
}

struct Got {
  double ms = 0;
  model::EngineKind engine{};
  std::string notes;
};
Got run(const model::Scenario& s) {
  const auto out = simulate_training(s, {});
  EXPECT_TRUE(out) << out.error().to_string();
  if (!out) return {};
  Got got{.ms = out->total.count() * 1e3, .engine = out->engine, .notes = {}};
  for (const std::string& n : out->notes) got.notes += n + "\n";
  return got;
}

double ring_ms(int ranks, double bytes, int channels) {
  return 2e3 * (ranks - 1) * (2.7e-6 + bytes / channels / ranks / 50e9);
}

// 438 MB over 512 ranks: 20 ms flat, 4 ms in two levels, 5 ms by eight channels.
TEST(Rails, AllReduceFlatStripedAndInTwoLevels) {
  model::Scenario s = rails(64);
  EXPECT_NEAR(run(s).ms, ring_ms(512, 438e6, 1), 1e-4);
  EXPECT_NEAR(run(s).ms, 20.24, 0.01);
  work_of(s).collective.channels = 8;
  EXPECT_NEAR(run(s).ms, ring_ms(512, 438e6, 8), 1e-4);
  EXPECT_NEAR(run(s).ms, 4.95, 0.01);
  work_of(s).collective = {.algorithm = Hierarchical2};
  const double inside = 2e3 * 7 * (0.6e-6 + 438e6 / 8 / 450e9);
  const double across = 2e3 * 63 * (2.7e-6 + 438e6 / 512 / 50e9);
  EXPECT_NEAR(run(s).ms, inside + across, 1e-4);
  EXPECT_NEAR(run(s).ms, 4.21, 0.01);
  // Eight ranks behind two cards: four of them at each.
  s.cluster.nics_per_node = 2;
  EXPECT_NEAR(run(s).ms, inside + 2e3 * 63 * (2.7e-6 + 4 * 438e6 / 512 / 50e9), 1e-4);
}

// 32 layers of 421 MB, gathered twice and scattered once, over switches of eight nodes: the slowest hop goes over a spine.
TEST(Rails, FullyShardedOverSwitches) {
  model::Scenario s = rails(64);
  s.fabric.kind = model::FabricKind::RailOptimised;
  s.fabric.link = {.latency = Seconds{130e-9}, .bandwidth = Bandwidth::gbyte_per_s(50)};
  work_of(s).zero_stage = 3;
  work_of(s).layers[0].gradients = Bytes{6'738'415'616 * 2 / 32};
  work_of(s).layers.assign(32, work_of(s).layers[0]);
  work_of(s).bucket = Bytes{1};
  work_of(s).collective.channels = 8;
  const auto by_hand = [](int channels) {
    return 96e3 * 511 * (2.96e-6 + 421.150976e6 / channels / 512 / 50e9);
  };
  const Got got = run(s);
  EXPECT_EQ(got.engine, model::EngineKind::MaxPlus) << "nothing is shared but devices' ports";
  EXPECT_NEAR(got.ms, by_hand(8), 1e-4 * by_hand(8));
  EXPECT_NEAR(got.ms, 246, 1);
  s.fabric = {};
  s.across.latency = Seconds{2.96e-6};
  work_of(s).collective.channels = 1;
  EXPECT_NEAR(run(s).ms, by_hand(1), 1e-4 * by_hand(1));
  EXPECT_NEAR(run(s).ms, 952, 1);
}

// Chunks of 512 ranks x 8 channels that differ by a byte: made equal, so that a step's collectives repeat.
TEST(Rails, ChannelsHaveEqualChunks) {
  model::Scenario s = rails(64);
  s.fabric.kind = model::FabricKind::RailOptimised;
  s.fabric.link = {.latency = Seconds{130e-9}, .bandwidth = Bandwidth::gbyte_per_s(50)};
  work_of(s).zero_stage = 3;
  work_of(s).layers[0].gradients = Bytes{4096 * 20'000 + 1};
  work_of(s).layers[0].backward = Seconds{1e-6};
  work_of(s).layers.assign(4, work_of(s).layers[0]);
  work_of(s).bucket = Bytes{1};
  work_of(s).collective.channels = 8;
  const auto equal = simulate_training(s, {});
  const auto exact = simulate_training(s, {.memo = false});
  ASSERT_TRUE(equal && exact);
  EXPECT_GT(equal->total, exact->total);
  EXPECT_LT(equal->total, exact->total * (1 + 1e-4));
  EXPECT_LE(equal->evaluated, exact->evaluated);
  const auto says = [](const Outcome& o) {
    return std::ranges::any_of(
        o.notes, [](const std::string& n) { return n.find("chunks of equal size") != std::string::npos; });
  };
  EXPECT_TRUE(says(*equal));
}

// The flow engine has the rails as links; nothing else is told.
TEST(Rails, TheSharedNetworkSaysTheSame) {
  for (const int channels : {1, 2, 8}) {
    model::Scenario s = rails(4);
    work_of(s).collective.channels = channels;
    const Got alone = run(s);
    EXPECT_EQ(alone.engine, model::EngineKind::MaxPlus);
    s.engine = model::EngineKind::Flow;
    s.fabric.kind = model::FabricKind::RailOptimised;
    s.fabric.link = s.cluster.nic;
    const Got shared = run(s);
    EXPECT_EQ(shared.engine, model::EngineKind::Flow);
    // One ring goes from rank 7 of a node to rank 0 of the next: over a spine, two links more.
    const double spine = channels == 1 ? 2e3 * 31 * 2 * 1.35e-6 : 0;
    EXPECT_NEAR(shared.ms, ring_ms(32, 438e6, channels) + spine, 1e-6 * alone.ms) << channels;
    EXPECT_NEAR(alone.ms, ring_ms(32, 438e6, channels), 1e-6 * alone.ms) << channels;
  }
}

// ZeRO 3: what one layer gathers and scatters, in two levels, is half of the all-reduce each.
TEST(Rails, ShardsAreGatheredAndScatteredInTwoLevels) {
  model::Scenario s = rails(8);
  work_of(s).collective.algorithm = Hierarchical2;
  const double reduced = run(s).ms;
  work_of(s).zero_stage = 3;
  // Gathered for the forward and for the backward pass, scattered after it.
  EXPECT_NEAR(run(s).ms, 1.5 * reduced, 1e-6);
  EXPECT_EQ(run(s).notes.find("carried out by"), std::string::npos) << run(s).notes;
}

TEST(Rails, TensorRanksHaveRailsOfTheirOwn) {
  model::Scenario s = rails(8);
  work_of(s).layout = {.data = 32, .tensor = 2};
  work_of(s).collective.algorithm = Hierarchical2;
  // Four members a node, each with half of the gradients; and four empty all-reduces of two tensor ranks.
  EXPECT_NEAR(run(s).ms,
              2e3 * 3 * (0.6e-6 + 219e6 / 4 / 450e9) + 2e3 * 7 * (2.7e-6 + 219e6 / 32 / 50e9) + 8e3 * 0.6e-6,
              1e-4);
}

TEST(Rails, WhatCannotBeIsSaid) {
  model::Scenario s = rails(3);
  work_of(s).layout = {.data = 8, .pipeline = 3};
  work_of(s).layers.resize(3, work_of(s).layers[0]);
  work_of(s).collective.algorithm = Hierarchical2;
  EXPECT_NE(run(s).notes.find("gradients: hierarchical is one ring, as no two members surely share a node"),
            std::string::npos)
      << run(s).notes;
  work_of(s).collective = {.channels = 8};
  EXPECT_NE(run(s).notes.find("gradients: one ring instead of 8 channels"), std::string::npos)
      << run(s).notes;
  s = rails(3);
  work_of(s).collective = {.algorithm = Hierarchical2, .group = 16};
  EXPECT_NE(run(s).notes.find("groups of 16 ranks do not divide 24 ranks; carried out by one ring"),
            std::string::npos)
      << run(s).notes;
}

TEST(Rails, ExpertsExchangeInTwoLevels) {
  model::Scenario s = rails(8);
  work_of(s).layout = {.data = 64, .expert = 64};
  work_of(s).moe_layers = 1;
  work_of(s).layers[0] = {
      .forward = {}, .backward = {}, .gradients = Bytes{}, .activations = Bytes{64'000'000}};
  const double direct = run(s).ms;
  work_of(s).collective.algorithm = Hierarchical2;
  // Two exchanges each way: seven inside of n / 8, seven across of eight blocks of n / 64.
  EXPECT_NEAR(run(s).ms, 4e3 * 7 * (0.6e-6 + 8e6 / 450e9 + 2.7e-6 + 8e6 / 50e9), 1e-4);
  EXPECT_LT(run(s).ms, direct);
}

// NCCL's model: members leave together, that time after the last has come, whatever the fabric is.
TEST(Rails, NcclPricesWholeCollectives) {
  model::Scenario s = rails(64);
  s.price = model::CollectivePrice::Nccl;
  s.nccl.inside = Bandwidth::gbyte_per_s(450.0 / 16);
  s.nccl.across = Bandwidth::gbyte_per_s(8 * 50.0 / 16);
  s.fabric.kind = model::FabricKind::RailOptimised;
  s.fabric.link = s.cluster.nic;
  const auto best = *model::nccl_time({.ranks = 512, .bytes = Bytes{438'000'000}}, s.nccl);
  const Got got = run(s);
  EXPECT_NEAR(got.ms, best.time.count() * 1e3, 1e-9);
  EXPECT_NE(got.notes.find("AllReduce of 438 MB by NCCL's tuning model: Tree, Simple, 16 channels"),
            std::string::npos)
      << got.notes;
  s.nccl.algorithm = model::NcclAlgorithm::Ring;
  s.nccl.protocol = model::NcclProtocol::Simple;
  // 8.4 us + 1022 hops, 126 of them across, + 2 n 511 / 512 at 400 GB/s.
  EXPECT_NEAR(run(s).ms, (8.4 + 896 * 3.4 + 126 * 14 + 2 * 511 / 512.0 * 438e6 / 400e9 * 1e6) * 1e-3, 1e-9);
  // Two tensor ranks a unit: four members a node, which have half of the cards; their all-reduces inside the node.
  work_of(s).layout = {.data = 256, .tensor = 2};
  work_of(s).layers[0].activations = Bytes{2'000'000};
  const double data = 8.4 + 384 * 3.4 + 126 * 14 + 2 * 255 / 256.0 * 219e6 / 200e9 * 1e6;
  EXPECT_NEAR(run(s).ms, (data + 4 * (8.4 + 2 * 3.4 + 2e6 / 450e9 * 1e6)) * 1e-3, 1e-9);
  work_of(s).zero_stage = 3;
  s.nccl.algorithm = model::NcclAlgorithm::Tree;
  const auto refused = simulate_training(s, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "NCCL has no ReduceScatter of 256 ranks, 4 a node, with what cost.nccl says");
}

}  // namespace
}  // namespace cox::simulate
