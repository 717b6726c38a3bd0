// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "forecast/scaled/scaled.hpp"
#include "forecast/scenario/quiet_step.hpp"
#include "forecast/scenario/resize.hpp"
#include "forecast/scenario/scenario_parts.hpp"

namespace cox::forecast {
namespace {

/// A barrier of messages of a microsecond: as many as the logarithm says.
model::Scenario job(model::Algorithm algorithm, Bytes bytes) {
  model::Scenario s;
  s.cluster.nodes = 4;
  s.cluster.devices_per_node = 2;
  s.across = s.inside = {.latency = Seconds{1e-6}, .per_byte = TimePerByte::seconds_per_byte(1e-9)};
  model::CollectiveJob work;
  work.compute = Seconds{1e-3};
  work.collective = {.algorithm = algorithm, .ranks = 8, .bytes = bytes};
  s.job.work = work;
  return s;
}

TEST(ScenarioRest, IsTheCollectiveOfThatSize) {
  const RestAt rest = rest_of(job(model::Algorithm::RecursiveDoubling, Bytes{8}));
  // In all rounds but the first both devices of a node send through its one card.
  const auto rounds = [](int count) { return count * 1e-6 + (1 + 2 * (count - 1)) * 8e-9; };
  EXPECT_NEAR(rest(8).value.count(), rounds(3), 1e-9);
  EXPECT_NEAR(rest(1024).value.count(), rounds(10), 1e-9);
  EXPECT_NEAR(rest(1 << 14).value.count(), rounds(14), 1e-9);
  EXPECT_EQ(rest(8).low, rest(8).high);
}

TEST(ScenarioRest, IsARangeBeyondWhatIsSimulatedAndBetweenSizes) {
  const RestAt rest = rest_of(job(model::Algorithm::RecursiveDoubling, Bytes{8}));
  EXPECT_EQ(rest(1 << 21).origin, Origin::Range);
  EXPECT_LE(rest(1 << 21).low, rest(1 << 21).value);
  EXPECT_GE(rest(1 << 21).high.count(), 21 * (1e-6 + 8e-9) * (1 - 1e-9));
  EXPECT_GT(rest(24).value, rest(16).value);
  EXPECT_LT(rest(24).value, rest(32).value);
}

TEST(ScenarioRest, ALargeRingGrowsWithItsRounds) {
  const RestAt rest = rest_of(job(model::Algorithm::Ring, Bytes{8'000'000}));
  EXPECT_NEAR(rest(256).value.count(), 2 * 255 * (1e-6 + 8e6 / 256 * 1e-9), 1e-6);
  EXPECT_NEAR(rest(1 << 20).value.count() / (2 * (1 << 20) * 1e-6), 1, 0.02)
      << "beyond what is simulated, too";
}

TEST(ScenarioRest, ItsSlopeHasNoJumps) {
  const RestAt rest = rest_of(job(model::Algorithm::Ring, Bytes{8'000'000}));
  const auto slope = [&rest](std::int64_t from, std::int64_t to) {
    return std::log(rest(to).value / rest(from).value) /
           std::log(static_cast<double>(to) / static_cast<double>(from));
  };
  for (const std::int64_t size : {1024, 2048, 4096, 8192})
    EXPECT_NEAR(slope(size - 16, size), slope(size, size + 16), 0.02) << size;
  for (std::int64_t n = 512; n < 16'000; n += 64) EXPECT_LE(rest(n).value, rest(n + 64).value);
}

TEST(ScenarioRest, TheScenariosOwnSizeIsSimulated) {
  model::Scenario s = job(model::Algorithm::Ring, Bytes{8'000'000});
  s.cluster.nodes = 9;
  s.job.as<model::CollectiveJob>().collective.ranks = 18;
  const RestAt rest = rest_of(s);
  EXPECT_NEAR(rest(18).value.count(), 2 * 17 * (1e-6 + 8e6 / 18 * 1e-9), 1e-6);
  EXPECT_NEAR(rest(72).value.count(), 2 * 71 * (1e-6 + 8e6 / 72 * 1e-9), 1e-6);
  EXPECT_EQ(rest(18).low, rest(18).high);
}

/// Two layers; at 16,384 ranks the backward pass hides the first one's sum, at 65,536 it does not.
model::Scenario hiding() {
  model::Scenario s;
  s.cluster.nodes = 4;
  s.cluster.devices_per_node = 2;
  s.cluster.nic = {.latency = Seconds{2e-6}, .bandwidth = Bandwidth::gbyte_per_s(25)};
  s.cluster.scale_up = {.latency = Seconds{1e-6}, .bandwidth = Bandwidth::gbyte_per_s(300)};
  s.inside = {.latency = Seconds{1e-6}, .per_byte = s.cluster.scale_up.bandwidth.time_per_byte()};
  s.across = {.latency = Seconds{2e-6}, .per_byte = s.cluster.nic.bandwidth.time_per_byte()};
  model::TrainingJob work;
  work.layout.data = 8;
  const model::Layer layer{
      .forward = Seconds{0.05}, .backward = Seconds{0.1}, .gradients = Bytes{25'000'000}, .activations = {}};
  work.layers = {layer, layer};
  s.job.work = work;
  return s;
}

TEST(ScenarioRest, WhatSurfacesBeyond16384RanksIsSimulatedWhereThatIsCheap) {
  const model::Scenario s = hiding();
  const RestAt rest = rest_of(s);
  for (const std::int64_t size : {65'536, 262'144}) {
    const Seconds simulated = quiet_step(resized(s, size)).value().rest.value;
    EXPECT_NEAR(rest(size).value.count(), simulated.count(), 1e-9) << size;
    EXPECT_EQ(rest(size).low, rest(size).high) << size;
  }
  EXPECT_GT(rest(65'536).value, 4.2 * rest(16'384).value) << "more than its rounds";
  EXPECT_FALSE(rest_and_range_of(s).simulated_below(262'144));
}

TEST(ScenarioRest, WhatIsHiddenMaySurfaceBeyondWhatIsSimulated) {
  model::Scenario s = hiding();
  s.engine =
      model::EngineKind::Flow;  // links are shared, so beyond 256 ranks as many are simulated as are cheap
  ASSERT_TRUE(quiet_step(resized(s, 256))) << quiet_step(resized(s, 256)).error().to_string();
  const RestOfScenario rest = rest_and_range_of(s);
  EXPECT_EQ(rest.simulated_below(65'536), 16'384);
  const Seconds truth = quiet_step(resized(hiding(), 65'536)).value().rest.value;
  EXPECT_GT(rest.at(65'536).high, 1.2 * rest.at(65'536).value);
  EXPECT_GE(rest.at(65'536).high, truth);
  EXPECT_LT(rest.at(65'536).high, 4 * truth);
}

/// Workers that push to four servers and pull: each has as much to send and serve at any size, so links are shared.
model::Scenario served(model::Algorithm algorithm) {
  model::Scenario s = job(algorithm, Bytes{100'000'000});
  s.engine = model::EngineKind::Flow;
  s.cluster.devices_per_node = 1;
  s.cluster.nodes = 32;
  s.cluster.nic = {.latency = Seconds{2e-6}, .bandwidth = Bandwidth::gbyte_per_s(12.5)};
  s.job.as<model::CollectiveJob>().collective.ranks = 32;
  s.job.as<model::CollectiveJob>().collective.servers = 4;
  if (algorithm == model::Algorithm::Direct)
    s.job.as<model::CollectiveJob>().collective.kind = model::Collective::AllToAll;
  s.job.steps = 10;
  return s;
}

TEST(ScenarioRest, SharedLinksAreSimulatedBeyond256RanksWhereThatIsCheap) {
  const model::Scenario s = served(model::Algorithm::ParameterServer);
  const RestOfScenario rest = rest_and_range_of(s);
  const auto simulated = [&](std::int64_t ranks) { return quiet_step(resized(s, ranks)).value().rest.value; };
  for (const std::int64_t ranks : {384, 512, 1'024}) {
    ASSERT_TRUE(rest.simulated_at(ranks)) << ranks;
    EXPECT_EQ(rest.simulated_at(ranks)->value, simulated(ranks)) << ranks;
  }
  EXPECT_EQ(rest.at(1'024).low, rest.at(1'024).high);
  EXPECT_EQ(rest_and_range_of(served(model::Algorithm::Direct)).simulated_below(4'096), 512)
      << "messages of all to all are too many";
}

// A slope that only goes on makes no throughput fall: beyond what is simulated a step grows as the ranks at most.
TEST(ScenarioRest, BeyondWhatIsSimulatedMoreRanksDoNoLess) {
  for (const auto algorithm : {model::Algorithm::ParameterServer, model::Algorithm::Direct}) {
    const model::Scenario s = served(algorithm);
    const RestOfScenario rest = rest_and_range_of(s);
    const std::int64_t most = rest.simulated_below(1 << 20).value();
    const Seconds own{1e-3};
    const Seconds step = own + rest.at(most).value;
    for (const std::int64_t times : {2, 3, 64}) {
      const TimeEstimate beyond = rest.at(times * most);
      EXPECT_LE(own + beyond.value, (1 + 1e-9) * static_cast<double>(times) * step) << times;
      if (algorithm ==
          model::Algorithm::Direct) {  // how messages meet at servers is another thing at each size
        EXPECT_LE(own + beyond.high, (1 + 1e-9) * static_cast<double>(times) * step) << times;
      }
      EXPECT_GE(beyond.low, rest.at(most).value);
    }
  }
}

// Links that pass fewer bytes: what work hides of the messages and what nothing hides are parted anew.
TEST(ScenarioRest, OtherLinksAreSimulated) {
  const model::Scenario s = hiding();
  const RestOfScenario rest = rest_and_range_of(s);
  const auto simulated = [&](std::int64_t ranks, double bandwidth) {
    model::Scenario changed = resized(s, ranks);
    scale_links(changed, bandwidth);
    return quiet_step(changed).value().rest.value;
  };
  for (const double bandwidth : {0.5, 0.25, 2.0})
    EXPECT_NEAR(rest.with_links(1'024, bandwidth).value.count(), simulated(1'024, bandwidth).count(), 1e-9)
        << bandwidth;
  for (const double bandwidth : {0.42, 0.1, 0.01})
    EXPECT_NEAR(rest.with_links(1'024, bandwidth).value / simulated(1'024, bandwidth), 1, 0.1) << bandwidth;
  EXPECT_EQ(rest.with_links(1'024, 1).value, rest.at(1'024).value);
  EXPECT_LT(rest.with_links(1'024, 1.0 / 16).value, 8 * rest.at(1'024).value) << "latency stays as it is";
}

// Each replica is a pipeline on a node of its own: without gradients none hears of another, so none is simulated beside it.
TEST(ScenarioRest, ReplicasThatMeetNobodyAreOneOfThem) {
  model::Scenario s = hiding();
  s.engine = model::EngineKind::Flow;
  auto& work = s.job.as<model::TrainingJob>();
  work.layout = {.data = 4, .pipeline = 2};
  work.micro_batches = 4;
  for (model::Layer& layer : work.layers) {
    layer.gradients = {};
    layer.activations = Bytes{1'000'000};
  }
  const RestOfScenario rest = rest_and_range_of(s);
  EXPECT_FALSE(rest.simulated_below(1 << 20)) << "a larger job has no larger step";
  EXPECT_GT(rest.at(2).value, Seconds{});
  for (const std::int64_t size : {8, 256, 4'096, 1 << 20}) {
    EXPECT_EQ(rest.at(size).value, rest.at(2).value) << size;
    EXPECT_EQ(rest.at(size).low, rest.at(size).high) << size;
  }
  EXPECT_NEAR(rest.at(2).value / quiet_step(resized(s, 64)).value().rest.value, 1, 1e-9);
  work.layers.front().gradients = Bytes{1'000'000};
  EXPECT_EQ(rest_and_range_of(s).simulated_below(1 << 20), 8'192);
}

TEST(ScenarioRest, AnAnswerIsTheSameWhateverElseIsAsked) {
  const RestAt first = rest_of(hiding());
  const RestAt second = rest_of(hiding());
  const Seconds alone = first(12'000).value;
  static_cast<void>(second(100'000));
  EXPECT_EQ(second(12'000).value, alone);
}

// As many steps as two seconds pay for: hundreds of dear ones took minutes.
TEST(QuietStep, OfDisturbedMessagesPlaysFewWhereTheyAreDear) {
  model::NoiseSource noise;
  noise.target = model::NoiseTarget::Message;
  noise.law = model::NoiseLaw::Exponential;
  noise.mean_ratio = 0.02;
  const auto steps = [&](std::int64_t ranks) {  // of 2 (n - 1) rounds of n messages
    model::Scenario s = resized(job(model::Algorithm::Ring, Bytes{8'000'000}), ranks);
    s.noise = {noise};
    return quiet_step(s).value().evaluated / (2 * (ranks - 1) * ranks);
  };
  EXPECT_EQ(steps(8), 400);
  EXPECT_GE(steps(1'024), 3);
  EXPECT_LE(steps(1'024), 8) << "of 64";
}

}  // namespace
}  // namespace cox::forecast
