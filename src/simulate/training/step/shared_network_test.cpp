// SPDX-License-Identifier: Apache-2.0
// Training steps on a network that all of a step shares.
#include "simulate/training/step/shared_network.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "cox/base/random.hpp"
#include "cox/simulate/training.hpp"

#include "simulate/training/scenarios.hpp"
#include "simulate/training/step/play_steps.hpp"

namespace cox::simulate {
namespace shared_network {
namespace {

using namespace testing;
using model::EngineKind;

constexpr double kMegabyte = 1e6;  // a millisecond on an idle link of 1 GB/s

/// Layers of 1 ms forward and 2 ms backward; links of 1 GB/s without latency, one device per node.
model::Scenario job(model::Layout layout, int layers, double gradients, double activations = 0) {
  model::Scenario s = data_parallel(1, layers);
  work_of(s).layout = layout;
  work_of(s).optimizer = {};
  work_of(s).bucket = Bytes{1};  // one per layer
  for (model::Layer& l : work_of(s).layers) {
    l.gradients = Bytes{static_cast<std::int64_t>(gradients * kMegabyte)};
    l.activations = Bytes{static_cast<std::int64_t>(activations * kMegabyte)};
  }
  s.cluster = cluster(layout.data * layout.tensor * layout.pipeline * layout.context, 1);
  s.cluster.nic = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(1)};
  s.fabric.link = s.cluster.nic;
  s.inside = {};
  s.across = {.latency = {}, .per_byte = Bandwidth::gbyte_per_s(1).time_per_byte()};
  s.engine = EngineKind::Flow;
  return s;
}

model::Scenario on_tree(model::Scenario s, int per_leaf, double oversubscription) {
  s.fabric.kind = model::FabricKind::FatTree;
  s.fabric.hosts_per_leaf = per_leaf;
  s.fabric.oversubscription = oversubscription;
  return s;
}

Outcome outcome(const model::Scenario& s, const SimulateOptions& options = {}) {
  auto out = simulate_training(s, options);
  EXPECT_TRUE(out) << s.name << ": " << out.error().to_string();
  return out ? *std::move(out) : Outcome{};
}

/// By the flow engine, and left to choose the same, also where that is max-plus.
double step_ms(model::Scenario s, EngineKind by = EngineKind::Flow) {
  const Outcome chosen = outcome(s);
  s.engine = by;
  const Outcome out = outcome(s);
  EXPECT_EQ(out.engine, by);
  EXPECT_NEAR(chosen.total.count(), out.total.count(), 1e-9 * out.total.count());
  return out.total.count() * 1e3;
}

double alone_ms(model::Scenario s) {
  s.engine = EngineKind::MaxPlus;
  return step_ms(s, EngineKind::MaxPlus);
}

TEST(SharedNetwork, ABucketOnATreeTakesWhatItsLinksGive) {
  // Pairs one apart are in a leaf; pairs two apart are two messages on its one up-link.
  model::Scenario s = on_tree(job({.data = 4}, 1, 4), 2, 2);
  work_of(s).collective.algorithm = model::Algorithm::RecursiveDoubling;
  EXPECT_NEAR(step_ms(s), 3 + 4 + 2 * 4, 1e-9);
  s.fabric.oversubscription = 1;
  EXPECT_NEAR(step_ms(s), 3 + 4 + 4, 1e-9);
  EXPECT_NEAR(alone_ms(s), 3 + 4 + 4, 1e-9);
  // A ring in the order of the ranks has one message at a time on any up-link: six rounds of a quarter.
  s = on_tree(job({.data = 4}, 1, 4), 2, 2);
  EXPECT_NEAR(step_ms(s), 3 + 6, 1e-9);
}

TEST(SharedNetwork, OversubscriptionSlowsGroupsThatCrossLeaves) {
  // Four tensor ranks in a leaf: their four rings all go from leaf to leaf.
  for (const double ratio : {1.0, 2.0, 4.0}) {
    model::Scenario s = on_tree(job({.data = 4, .tensor = 4}, 1, 4 * 4), 4, ratio);
    if (ratio > 1) s.engine = EngineKind::Auto;  // is flow where links are shared
    EXPECT_NEAR(step_ms(s), 3 + ratio * 6, 1e-9) << ratio;
    EXPECT_NEAR(alone_ms(s), 3 + 6, 1e-9);
    // Two buckets: the first leaves a layer before the second, the stream is one.
    work_of(s).layers.resize(2, work_of(s).layers.front());
    EXPECT_NEAR(step_ms(s), 2 + 2 + std::max(2.0, ratio * 6) + ratio * 6, 1e-9) << ratio;
  }
}

TEST(SharedNetwork, BackgroundLoadTakesItsPartOfSwitchLinks) {
  model::Scenario s = on_tree(job({.data = 4}, 1, 4), 2, 1);
  EXPECT_NEAR(step_ms(s), 3 + 6, 1e-9);
  s.fabric.background_load = 0.5;
  EXPECT_NEAR(step_ms(s), 3 + 2 * 6,
              1e-9);  // every message between leaves at half the rate holds up the ring
  s.fabric.background_load = 0.9;
  EXPECT_NEAR(step_ms(s), 3 + 10 * 6, 1e-9);
  s.fabric.hosts_per_leaf = 4;  // one leaf
  EXPECT_NEAR(step_ms(s), 3 + 6, 1e-9);
}

TEST(SharedNetwork, TensorRanksOfANodeShareItsInterfaces) {
  for (const int tensor : {1, 2, 4}) {
    model::Scenario s = job({.data = 4, .tensor = tensor}, 1, 4 * tensor);
    s.cluster.nodes = 4;
    s.cluster.devices_per_node = tensor;
    s.cluster.scale_up = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(300)};
    EXPECT_NEAR(step_ms(s), 3 + 6.0 * tensor, 1e-9) << tensor;
    s.cluster.nics_per_node = tensor;
    EXPECT_NEAR(step_ms(s), 3 + 6, 1e-9) << tensor;
  }
}

TEST(SharedNetwork, DataCollectivesOfTwoStagesShareAnUpLink) {
  // Leaves {stage 0, stage 1} of each replica. Alone each takes 8 ms: stage 1 from 4 on, stage 0 from 6 on. The
  // up-link has 16 MB to carry from 4 on and never rests.
  model::Scenario s = on_tree(job({.data = 2, .pipeline = 2}, 2, 8), 2, 2);
  EXPECT_NEAR(step_ms(s), 4 + 16, 1e-9);
  EXPECT_NEAR(alone_ms(s), 6 + 8, 1e-9);
  s.fabric.oversubscription = 1;  // an up-link for each
  EXPECT_NEAR(step_ms(s), 6 + 8, 1e-9);
}

TEST(SharedNetwork, AMessageBetweenStagesGoesBesideADataCollective) {
  // Stage 1: forward from 2, backward until 5; then its bucket of 8 MB and the gradients of 1 MB for stage 0 leave
  // by one NIC. These arrive at 7, stage 0 works until 9 and reduces until 17.
  model::Scenario s = on_tree(job({.data = 2, .pipeline = 2}, 2, 8, 1), 2, 1);
  EXPECT_NEAR(step_ms(s), 17, 1e-9);
  EXPECT_NEAR(alone_ms(s), 16, 1e-9);
  // With little to reduce the message is late by what the bucket sends beside it.
  for (model::Layer& l : work_of(s).layers) l.gradients = Bytes{1'000'000};  // two rounds of 0.5 MB
  EXPECT_NEAR(step_ms(s), 5 + 2 + 2 + 1, 1e-9);
  EXPECT_NEAR(alone_ms(s), 5 + 1 + 2 + 1, 1e-9);
}

TEST(SharedNetwork, AnExchangeOfExpertsGoesBesideADataCollective) {
  // Forward 2 x (1 + 2 x 1). Backward of layer 1 until 10, then its 8 MB in two rounds beside layer 0: half (1), an
  // exchange at half the rate (2), half (1), another (2): at 16 one round is through, at 20 the other, and layer 0
  // takes 8 more.
  model::Scenario s = job({.data = 2, .expert = 2}, 2, 8, 2);
  work_of(s).moe_layers = 2;
  EXPECT_NEAR(step_ms(s), 28, 1e-9);
  EXPECT_NEAR(alone_ms(s), 26, 1e-9);
}

TEST(SharedNetwork, WhatIsSlowedBesideTheStreamEndsInTime) {
  // Stage 1's last bucket fills the stream from 6 to 26. The layer beside it takes 3 instead of 2, and stage 0 gets
  // its (empty) gradients at 9, not when the stream is free.
  model::Scenario s = on_tree(job({.data = 2, .pipeline = 2}, 4, 20), 2, 1);
  work_of(s).overlap_slowdown = 0.5;
  EXPECT_NEAR(step_ms(s), 11 + 40, 1e-9);
  EXPECT_NEAR(alone_ms(s), 11 + 40, 1e-9);
  // Short buckets: the layer is slowed for as long as the bucket takes, 1 ms of 2.
  for (model::Layer& l : work_of(s).layers) l.gradients = Bytes{1'000'000};
  EXPECT_NEAR(step_ms(s), alone_ms(s), 1e-9);
}

TEST(SharedNetwork, IncastLossCostsWhereManyMeet) {
  // Eleven workers push to a server that sits with the twelfth: 8 of 11 of the rate. The pull goes one by one.
  model::Scenario s = on_tree(job({.data = 12}, 1, 4), 12, 1);
  work_of(s).collective.algorithm = model::Algorithm::ParameterServer;
  work_of(s).collective.servers = 1;
  EXPECT_NEAR(step_ms(s), 3 + 44 + 44, 1e-9);
  EXPECT_NEAR(alone_ms(s), 3 + 48 + 48, 1e-9);  // its own port, twelve times in and out
  s.fabric.incast_loss = true;
  EXPECT_NEAR(step_ms(s), 3 + 44 * 11.0 / 8 + 44, 1e-9);
}

TEST(SharedNetwork, PauseHoldsUpVictims) {
  // Stage 1's backward ends at 5. Five workers push 4 MB each to the server at replica 0, at a fifth of the rate;
  // beside that, 1 MB goes to their stage 0 at four fifths (1.25), with pauses at a fifth, too (5). Then 2 of
  // backward, 20 of push, 20 of pull.
  model::Scenario s = on_tree(job({.data = 6, .pipeline = 2}, 2, 4, 1), 12, 1);
  work_of(s).collective.algorithm = model::Algorithm::ParameterServer;
  work_of(s).collective.servers = 1;
  EXPECT_NEAR(step_ms(s), 5 + 1.25 + 2 + 40, 1e-9);
  s.fabric.pause = true;
  EXPECT_NEAR(step_ms(s), 5 + 5 + 2 + 40, 1e-9);
}

TEST(SharedNetwork, RoutingDecidesWhatCollides) {
  // Eight rings from leaf to leaf over eight up-links.
  model::Scenario s = on_tree(job({.data = 4, .tensor = 8}, 1, 8 * 4), 8, 1);
  const double idle = 3 + 6;
  EXPECT_NEAR(step_ms(s), idle, 1e-9);  // by destination: one each
  s.fabric.routing = model::Routing::Adaptive;
  EXPECT_NEAR(step_ms(s), idle, 1e-9);
  s.fabric.routing = model::Routing::Spray;
  EXPECT_NEAR(step_ms(s), idle, 1e-9);
  s.fabric.routing = model::Routing::Ecmp;
  const double hashed = step_ms(s);
  EXPECT_GT(hashed, 3 + 1.5 * 6);
  s.seed += 1;
  EXPECT_NE(step_ms(s), hashed) << "another hash";
}

TEST(SharedNetwork, StoreAndForwardPaysEveryHop) {
  model::Scenario s = on_tree(job({.data = 4}, 1, 4), 1, 1);
  s.fabric.switching = model::Switching::StoreAndForward;
  EXPECT_NEAR(step_ms(s), 3 + 4 * 6, 1e-9);  // NIC, up, down, NIC
}

// Trees, four to one, for what `assorted` has.
std::vector<model::Scenario> assorted_on_trees() {
  std::vector<model::Scenario> all = assorted();
  for (model::Scenario& s : all) {
    s.cluster.nic = {.latency = Seconds{1e-6}, .bandwidth = Bandwidth::gbyte_per_s(5)};
    s.cluster.scale_up = {.latency = Seconds{1e-6}, .bandwidth = Bandwidth::gbyte_per_s(300)};
    s.fabric.link = s.cluster.nic;
    s.engine = EngineKind::Flow;
    s = on_tree(std::move(s), 2, 2);
  }
  return all;
}

TEST(SharedNetwork, AWatcherSeesTheStepAsItIs) {
  for (const model::Scenario& s : assorted_on_trees()) {
    const Outcome plain = outcome(s);
    EXPECT_EQ(plain.engine, EngineKind::Flow);
    const Outcome recorded = outcome(s, {.want_run = true});
    EXPECT_EQ(plain.step_ends, recorded.step_ends) << s.name;
    EXPECT_EQ(plain.messages, recorded.messages) << s.name;
    ASSERT_TRUE(recorded.run) << s.name;
    // Each event in its step, and none after its end.
    for (const auto& rank : recorded.run->ranks)
      for (std::size_t i = 0; i < rank.events.size(); ++i)
        EXPECT_LE(in_seconds(rank.events.end[i]), plain.total.count() * (1 + 1e-9) + 1e-9) << s.name;
    for (int k = 0; k < 3; ++k) {
      const auto step = analyse_step(s, k);
      ASSERT_TRUE(step) << s.name << ": " << step.error().to_string();
      testing::expect_adds_up(*step, s.name);
    }
  }
}

TEST(SharedNetwork, TheSameSeedGivesTheSameForAnyNumberOfThreads) {
  for (model::Scenario s : assorted_on_trees()) {
    s.replicas = 5;
    s.fabric.routing = model::Routing::Ecmp;
    const Outcome one = outcome(s, {.threads = 1});
    const Outcome two = outcome(s, {.threads = 2});
    EXPECT_EQ(one.step_ends, two.step_ends) << s.name;
    EXPECT_EQ(one.over_replicas.mean, two.over_replicas.mean) << s.name;
    EXPECT_EQ(one.over_replicas.half_width_95, two.over_replicas.half_width_95) << s.name;
    EXPECT_GT(one.over_replicas.half_width_95, Seconds{}) << s.name;
    // The third replica, alone.
    s.replicas = 1;
    s.seed += 2;
    EXPECT_NE(outcome(s).total, one.total) << s.name;
  }
}

TEST(SharedNetwork, SkippingPeriodsChangesNothing) {
  int skipped = 0;
  for (model::Scenario s : assorted_on_trees()) {
    s.noise.clear();
    const Outcome with = outcome(s);
    const Outcome without = outcome(s, {.memo = false});
    skipped += with.memo ? 1 : 0;
    EXPECT_FALSE(without.memo);
    EXPECT_EQ(with.messages, without.messages) << s.name;
    for (std::size_t k = 0; k < with.step_ends.size(); ++k)
      EXPECT_NEAR(with.step_ends[k].count(), without.step_ends[k].count(), 1e-9 * with.total.count())
          << s.name;
  }
  EXPECT_GT(skipped, 0);
  model::Scenario s = on_tree(job({.data = 32}, 2, 32), 4, 2);
  s.engine = EngineKind::Flow;
  EXPECT_TRUE(outcome(s).memo);
  EXPECT_NEAR(step_ms(s), 2 + 2 + 2 * 62, 1e-6);
}

TEST(SharedNetwork, ChunksOfManyRanksAreEqual) {
  // 64 ranks and a byte more than 64 chunks: where that repeats, up to 64 bytes are added.
  model::Scenario s = on_tree(job({.data = 64}, 2, 0), 8, 4);
  for (model::Layer& l : work_of(s).layers) l.gradients = Bytes{64 * 20'000 + 1};
  const Outcome equal = outcome(s);
  EXPECT_TRUE(equal.memo);
  const Outcome exact = outcome(s, {.memo = false});
  EXPECT_GT(equal.total, exact.total);
  EXPECT_LT(equal.total, exact.total * (1 + 1e-4));
  const auto says = [](const Outcome& o) {
    return std::any_of(o.notes.begin(), o.notes.end(), [](const std::string& n) {
      return n.find("chunks of equal size") != std::string::npos;
    });
  };
  EXPECT_TRUE(says(equal));
  // Small chunks stay as they are.
  for (model::Layer& l : work_of(s).layers) l.gradients = Bytes{64 * 500 + 1};
  EXPECT_FALSE(outcome(s).memo);
  EXPECT_FALSE(says(outcome(s)));
}

// On one switch with a device per node nothing is shared as long as a rank does one thing at a time.
TEST(SharedNetwork, WhereNothingIsSharedItIsTheMaxPlusEngine) {
  for (model::Scenario s : assorted()) {
    s.cluster = cluster(static_cast<int>(s.cluster.ranks()), 1);
    s.cluster.nic = {.latency = Seconds{5e-6}, .bandwidth = Bandwidth::gbyte_per_s(25)};
    s.across = {.latency = Seconds{10e-6}, .per_byte = Bandwidth::gbyte_per_s(25).time_per_byte()};
    s.inside = s.across;
    // Messages between stages go beside collectives, exchanges beside buckets: without bytes, or not beside.
    if (work_of(s).layout.pipeline > 1)
      for (model::Layer& l : work_of(s).layers) l.activations = {};
    if (work_of(s).layout.expert > 1) {
      work_of(s).overlap = false;
      // A send to a late neighbour is still under way in the next round, and shares the NIC there.
      s.noise.clear();
    }
    s.engine = EngineKind::MaxPlus;
    const Outcome alone = outcome(s);
    s.engine = EngineKind::Flow;
    const Outcome shared = outcome(s);
    EXPECT_EQ(shared.engine, EngineKind::Flow);
    EXPECT_EQ(shared.messages, alone.messages) << s.name;
    for (std::size_t k = 0; k < alone.step_ends.size(); ++k)
      EXPECT_NEAR(shared.step_ends[k].count(), alone.step_ends[k].count(), 1e-9 * alone.total.count())
          << s.name;
  }
}

/// Any small job on nodes of one or two devices.
model::Scenario any(std::uint64_t seed) {
  const RandomStream draw(seed, 11);
  std::uint64_t k = 0;
  const auto pick = [&](auto... of) {
    const std::array all{of...};
    return all[draw.bits(0, k++) % all.size()];
  };
  const int pipeline = pick(1, 1, 2, 3);
  const int data = pick(2, 4);
  const int expert = pipeline == 1 ? pick(1, data / 2, data) : 1;
  model::Scenario s = job(
      {.data = data, .tensor = pick(1, 2), .pipeline = pipeline, .expert = expert, .context = pick(1, 1, 2)},
      pick(3, 6), pick(0.5, 4.0, 30.0), pick(0.0, 1.0, 5.0));
  s.name = "seed " + std::to_string(seed);
  model::TrainingJob& work = work_of(s);
  work.micro_batches = pick(1, 2, 4);
  work.zero_stage = pick(0, 0, 1, 2, 3);
  work.overlap = pick(true, true, false);
  work.overlap_slowdown = pick(0.0, 0.3);
  work.bucket = Bytes{pick(1, 8'000'000)};
  work.moe_layers = expert > 1 ? pick(1, 3) : 0;
  using enum model::PipelineSchedule;
  work.schedule = pick(GPipe, OneForwardOneBackward, ZeroBubble);
  s.job.steps = 2;
  if (pick(true, false)) s.noise.push_back(jitter(0.1));
  s.cluster.devices_per_node = pick(1, 2);
  s.cluster.nodes /= s.cluster.devices_per_node;
  s.cluster.nics_per_node = pick(1, s.cluster.devices_per_node);
  s.cluster.nic.latency = Seconds{5e-6};
  s.cluster.scale_up = {.latency = Seconds{1e-6}, .bandwidth = Bandwidth::gbyte_per_s(100)};
  s.across.latency = Seconds{10e-6};
  s.inside = {.latency = Seconds{1e-6}, .per_byte = Bandwidth::gbyte_per_s(100).time_per_byte()};
  return s;
}

TEST(SharedNetwork, NoStepIsFasterThanWithLinksForEverybody) {
  int slower = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    model::Scenario s = any(seed);
    s.engine = EngineKind::MaxPlus;
    const Outcome alone = outcome(s);
    s.engine = EngineKind::Flow;
    const Outcome shared = outcome(s);
    EXPECT_EQ(shared.messages, alone.messages) << s.name;
    EXPECT_GE(shared.total.count(), alone.total.count() * (1 - 1e-9)) << s.name;
    slower += shared.total > alone.total * 1.01 ? 1 : 0;
    EXPECT_EQ(outcome(s, {.want_run = true}).step_ends, shared.step_ends) << s.name;
    EXPECT_NEAR(outcome(s, {.memo = false}).total.count(), shared.total.count(), 1e-9 * shared.total.count())
        << s.name;
  }
  EXPECT_GT(slower, 40) << "else nothing was shared";
}

TEST(SharedNetwork, AnyStepEndsOnAnyFabric) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const RandomStream draw(seed, 12);
    model::Scenario s = any(seed);
    const int nodes = s.cluster.nodes;
    using enum model::FabricKind;
    s.fabric.kind =
        std::array{FatTree, FatTree, RailOptimised, Torus, Dragonfly, FullBisection}[draw.bits(0, 7) % 6];
    s.fabric.hosts_per_leaf = static_cast<int>(1 + draw.bits(0, 0) % 3);
    s.fabric.oversubscription =
        s.fabric.hosts_per_leaf * (s.fabric.kind == FatTree ? s.cluster.nics_per_node : 1);
    s.fabric.torus = {nodes};
    s.fabric.dragonfly_groups = (nodes + 1) / 2;
    s.fabric.dragonfly_routers = 2;
    s.fabric.dragonfly_hosts = 1;
    s.engine = EngineKind::Flow;
    using enum model::Routing;
    s.fabric.routing = std::array{Static, Ecmp, Adaptive, Spray}[draw.bits(0, 1) % 4];
    s.fabric.pause = draw.bits(0, 2) % 4 == 0;
    s.fabric.incast_loss = draw.bits(0, 3) % 4 == 0;
    s.fabric.background_load = draw.bits(0, 4) % 2 == 0 ? 0.5 : 0;
    s.protocol = draw.bits(0, 5) % 3 == 0 ? model::Protocol::Eager : model::Protocol::Rendezvous;
    using enum model::Algorithm;
    work_of(s).collective.algorithm = std::array{Ring,
                                                 BidirectionalRing,
                                                 RecursiveDoubling,
                                                 DoubleBinaryTree,
                                                 ParameterServer,
                                                 InNetwork}[draw.bits(0, 6) % 6];
    const Outcome once = outcome(s);
    EXPECT_GT(once.total, Seconds{}) << s.name;
    EXPECT_EQ(outcome(s).step_ends, once.step_ends) << s.name;
    EXPECT_EQ(outcome(s, {.want_run = true}).step_ends, once.step_ends) << s.name;
    const auto step = analyse_step(s, 1);
    ASSERT_TRUE(step) << s.name << ": " << step.error().to_string();
    EXPECT_LE(step->path_time.count(), step->step.count() + 1e-9) << s.name;
  }
}

TEST(SharedNetwork, NoiseOfMessagesBetweenStagesIsThatOfAnyEngine) {
  model::Scenario s = job({.tensor = 2, .pipeline = 4}, 4, 0, 2);
  s.cluster.nodes = 4;
  s.cluster.devices_per_node = s.cluster.nics_per_node = 2;
  s.cluster.scale_up = s.cluster.nic;
  work_of(s).micro_batches = 3;
  s.job.steps = 2;
  s.cluster.nic.latency = Seconds{5e-6};
  s.across.latency = Seconds{10e-6};
  s.inside = s.across;
  const double plain = alone_ms(s);
  model::NoiseSource jitter{.name = "messages", .target = model::NoiseTarget::Message};
  jitter.law = model::NoiseLaw::Uniform;
  jitter.mean_ratio = 0.1;
  s.noise = {jitter};
  s.engine = EngineKind::Flow;
  const double shared = step_ms(s);
  EXPECT_NEAR(shared, alone_ms(s), 1e-9 * shared);
  EXPECT_GT(shared, 1.001 * plain);
  // Messages of one rank only: those that rank 3 receives, stage 1.
  s.noise.front().ranks = {3};
  const double one = step_ms(s);
  EXPECT_NEAR(one, alone_ms(s), 1e-9 * one);
  EXPECT_GT(one, plain);
  EXPECT_LT(one, shared);
}

/// From when to when somebody was at a transfer.
class Transfers : public training::Watcher {
 public:
  void sent(int, int, const training::Instruction&, Seconds at, Seconds, Seconds arrives) override {
    all.emplace_back(at, arrives);
  }
  void met(const training::Gathering& g) override {
    for (std::size_t m = 0; m < g.members.size(); ++m) all.emplace_back(g.arrivals[m], g.departures[m]);
  }
  std::vector<std::pair<Seconds, Seconds>> all;
};

// A step's clock does not see what the step before left under way: docs/concepts/training-steps.md says how much.
TEST(SharedNetwork, LittleIsUnderWayFromOneStepToTheNext) {
  for (const model::Scenario& s : assorted_on_trees()) {
    const auto plan = training::Plan::make(s);
    ASSERT_TRUE(plan) << plan.error().to_string();
    const auto noise = Noise::make(s.noise, plan->placement(), s.seed);
    ASSERT_TRUE(noise);
    training::StepEngine engine(*plan, &*noise, s.seed, 0, plan->layout().data);
    std::vector<Seconds> now(static_cast<std::size_t>(plan->units()));
    Seconds both{}, last{};
    for (int k = 0; k < 12; ++k) {
      Transfers t;
      ASSERT_TRUE(engine.run(k, training::Meeting::Gradients, now, &t));
      Seconds first = t.all.front().first, end{};
      for (const auto& [from, to] : t.all) {
        first = std::min(first, from);
        end = std::max(end, to);
      }
      both += std::max(last - first, Seconds{});
      last = end;
    }
    EXPECT_LE(both / *std::max_element(now.begin(), now.end()), 0.02) << s.name;
  }
}

// Buckets go one after the other: from the second on each goes as the one before, and is not played.
TEST(SharedNetwork, BucketsThatGoAsTheOneBeforeAreNotPlayed) {
  model::Scenario s = on_tree(job({.data = 16, .tensor = 2}, 20, 16), 4, 4);
  const Outcome once = outcome(s);
  const Outcome each = outcome(s, {.memo = false});
  EXPECT_NEAR(once.total.count(), each.total.count(), 1e-10 * each.total.count());
  EXPECT_EQ(once.messages, each.messages);
  EXPECT_LT(once.evaluated, each.evaluated / 4);
  ASSERT_EQ(once.links.size(), each.links.size());
  for (std::size_t l = 0; l < each.links.size(); ++l) {
    EXPECT_EQ(once.links[l].name, each.links[l].name);
    EXPECT_NEAR(static_cast<double>(once.links[l].bytes.count()),
                static_cast<double>(each.links[l].bytes.count()), 1);
  }
  // A layer whose bucket is larger breaks the row, and others follow it.
  work_of(s).layers[7].gradients = work_of(s).layers[7].gradients * 2;
  EXPECT_NEAR(outcome(s).total.count(), outcome(s, {.memo = false}).total.count(), 1e-10);
}

TEST(SharedNetwork, LinksCarryTheBytesOfTheStep) {
  model::Scenario s = on_tree(job({.data = 4}, 2, 4), 2, 2);
  s.job.steps = 3;
  const Outcome out = outcome(s);
  double nics = 0;
  for (const LinkLoad& link : out.links)
    if (link.name.starts_with('n')) nics += static_cast<double>(link.bytes.count());
  // 2 (n - 1) / n of two layers, from four ranks, three times.
  EXPECT_NEAR(nics, 3 * 4 * 2 * 1.5 * 4 * kMegabyte, 1);
  EXPECT_EQ(out.messages, 3 * 2 * 6 * 4);
}

}  // namespace
}  // namespace shared_network
}  // namespace cox::simulate
