// SPDX-License-Identifier: Apache-2.0
// What a step sends over one port, card or PCIe link at the same time, where the engine is left to choose.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "cox/simulate/training.hpp"

#include "simulate/training/scenarios.hpp"

namespace cox::simulate {
namespace shared_ways {
namespace {

using namespace testing;
using model::EngineKind;

/// Two layers of 1 ms forward and 2 ms backward, 60 MB of gradients and 40 MB of activations; `nodes` of two devices, a replica each,
/// whose PCIe and cards carry 10 GB/s.
model::Scenario over_pcie(int nodes) {
  model::Scenario s = data_parallel(nodes, 2);
  model::TrainingJob& job = work_of(s);
  job.optimizer = {};
  job.bucket = Bytes{1};
  for (model::Layer& l : job.layers)
    l = {.forward = Seconds{1e-3},
         .backward = Seconds{2e-3},
         .gradients = Bytes{60'000'000},
         .activations = Bytes{40'000'000}};
  s.cluster = cluster(nodes, 2);
  s.cluster.nics_per_node = 2;
  s.cluster.scale_up = {};
  s.cluster.pcie = s.cluster.nic = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(10)};
  s.inside = s.across = {.per_byte = s.cluster.nic.bandwidth.time_per_byte()};
  return s;
}

Outcome by(model::Scenario s, EngineKind engine) {
  s.engine = engine;
  auto out = simulate(s, {});
  EXPECT_TRUE(out) << out.error().to_string();
  return out ? *std::move(out) : Outcome{};
}

bool tells(const Outcome& out, std::string_view word) {
  return std::ranges::any_of(
      out.not_modelled, [word](const std::string& line) { return line.find(word) != std::string::npos; });
}

// By hand: activations 4 ms, a ring of 60 MB over four 9 ms. Stage 1 computes until 8 ms; then its gradients and the ring leave by one
// PCIe link, at half the rate each: they arrive at 16 ms, stage 0 computes until 18, and its ring ends at 27. Each alone: 23.
TEST(SharedWays, PcieCarriesWhatStaysInTheNodeAndWhatLeavesIt) {
  model::Scenario s = over_pcie(4);
  work_of(s).layout = {.data = 4, .pipeline = 2};
  const Outcome ours = by(s, EngineKind::Auto);
  EXPECT_EQ(ours.engine, EngineKind::Flow);
  EXPECT_NEAR(ours.total.count(), 27e-3, 1e-9);
  const Outcome alone = by(s, EngineKind::MaxPlus);
  EXPECT_NEAR(alone.total.count(), 23e-3, 1e-9);
  EXPECT_TRUE(tells(alone, "one PCIe link"));
  s.cluster.scale_up = s.cluster.nic;  // beside it, each has its own
  EXPECT_NEAR(by(s, EngineKind::Auto).total.count(), 23e-3, 1e-9);
}

// By hand, four devices of a node at 10 GB/s: 22 ms of computation, then each sends 2 x 3/4 x 80 MB through its port, 12 ms, in
// whichever directions.
TEST(SharedWays, TwoDirectionsShareThePortOfADevice) {
  model::Scenario s = over_pcie(4);
  s.cluster = cluster(1, 4);
  s.cluster.scale_up = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(10)};
  work_of(s).layout = {.data = 4};
  work_of(s).layers = {
      {.forward = Seconds{20e-3}, .backward = Seconds{2e-3}, .gradients = Bytes{80'000'000}}};
  work_of(s).collective.algorithm = model::Algorithm::BidirectionalRing;
  const Outcome ours = by(s, EngineKind::Auto);
  EXPECT_EQ(ours.engine, EngineKind::Flow);
  EXPECT_NEAR(ours.total.count(), 34e-3, 1e-9);
  const Outcome alone = by(s, EngineKind::MaxPlus);
  EXPECT_NEAR(alone.total.count(), 28e-3, 1e-9);
  EXPECT_TRUE(tells(alone, "two directions of a ring"));
}

/// Each message takes so much longer.
model::NoiseSource later(Seconds mean) {
  model::NoiseSource n;
  n.target = model::NoiseTarget::Message;
  n.law = model::NoiseLaw::Constant;
  n.relative = false;
  n.mean = mean;
  return n;
}

// By hand: an all-reduce of 20 MB over a pair is two rounds of 10 MB, 1 ms each and 1 ms of noise. Four of them beside 3 ms of
// computation, then one more of gradients: 3 + 5 x 4 = 23 ms. Max-plus disturbs the last one only, and says so: 15.
TEST(SharedWays, NoiseOnATensorGroupOverPcieIsDrawn) {
  model::Scenario s = over_pcie(2);
  work_of(s).layout = {.data = 2, .tensor = 2};
  work_of(s).layers = {{.forward = Seconds{1e-3},
                        .backward = Seconds{2e-3},
                        .gradients = Bytes{40'000'000},
                        .activations = Bytes{20'000'000}}};
  s.noise = {later(Seconds{1e-3})};
  const Outcome ours = by(s, EngineKind::Auto);
  EXPECT_NEAR(ours.total.count(), 23e-3, 1e-9);
  EXPECT_TRUE(ours.not_modelled.empty());
  const Outcome alone = by(s, EngineKind::MaxPlus);
  EXPECT_NEAR(alone.total.count(), 15e-3, 1e-9);
  EXPECT_TRUE(tells(alone, "noise on the messages of a tensor x context group (--engine flow does it)"));
  // A scale-up of its own meets nobody, and neither engine draws there.
  s.cluster.scale_up = s.cluster.nic;
  EXPECT_TRUE(tells(by(s, EngineKind::Auto), "noise on the messages of a tensor x context group"));
  EXPECT_FALSE(tells(by(s, EngineKind::Auto), "engine flow"));
}

TEST(SharedWays, NoiseThatIsOffIsNotLeftOut) {
  model::Scenario s = over_pcie(2);
  work_of(s).layout = {.data = 2, .tensor = 2};
  s.cluster.scale_up = s.cluster.nic;
  s.noise = {later(Seconds{1e-3})};
  EXPECT_TRUE(tells(by(s, EngineKind::Auto), "noise on the messages"));
  s.noise.front().off = true;
  EXPECT_FALSE(tells(by(s, EngineKind::Auto), "noise on the messages"));
}

// Halving and doubling at a card of two devices: max-plus gives each its part of it as if all came together.
TEST(SharedWays, GroupsThatShareTheirOwnCardsAreSaidByMaxPlus) {
  model::Scenario s = over_pcie(2);
  s.cluster.nics_per_node = 1;
  work_of(s).layout = {.data = 4};
  work_of(s).collective.algorithm = model::Algorithm::HalvingDoubling;
  EXPECT_TRUE(tells(by(s, EngineKind::MaxPlus), "card"));
  EXPECT_FALSE(tells(by(s, EngineKind::Auto), "card"));
}

TEST(SharedWays, EagerMessagesInsideANodeAreSaidByMaxPlus) {
  model::Scenario s = over_pcie(4);
  s.cluster = cluster(1, 4);
  s.cluster.scale_up = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(10)};
  s.protocol = model::Protocol::Eager;
  work_of(s).layout = {.data = 4};
  EXPECT_TRUE(tells(by(s, EngineKind::MaxPlus), "eager messages wait for no port"));
  EXPECT_EQ(by(s, EngineKind::Auto).engine, EngineKind::Flow);
}

// Links do not serve in turn: it was played as eager, unsaid.
TEST(SharedWays, EagerGapStaysWithItsPortsAndSaysSo) {
  model::Scenario s = over_pcie(4);
  s.protocol = model::Protocol::EagerGap;
  work_of(s).layout = {.data = 8};
  const Outcome two_streams = by(s, EngineKind::Auto);
  EXPECT_EQ(two_streams.engine, EngineKind::MaxPlus);
  s.cluster = cluster(1, 4);
  s.cluster.scale_up = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(10)};
  work_of(s).layout = {.data = 4};
  const Outcome ring = by(s, EngineKind::Auto);
  EXPECT_EQ(ring.engine, EngineKind::MaxPlus);
  EXPECT_TRUE(tells(ring, "ports are free then (cost.protocol = \"eager\" does it)"));
}

TEST(SharedWays, LocalStepsThatNeverMeetAreNoted) {
  model::Scenario s = over_pcie(2);
  work_of(s).layout = {.data = 4};
  s.policy = {.kind = model::PolicyKind::LocalSgd, .local_steps = 4};
  const auto noted = [](const Outcome& out) {
    return std::ranges::any_of(
        out.notes, [](const std::string& n) { return n.find("no step averages") != std::string::npos; });
  };
  s.job.steps = 3;
  EXPECT_TRUE(noted(by(s, EngineKind::Auto)));
  s.job.steps = 4;
  EXPECT_FALSE(noted(by(s, EngineKind::Auto)));
}

}  // namespace
}  // namespace shared_ways
}  // namespace cox::simulate
