// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "cox/model/toml.hpp"
#include "cox/simulate/outcome.hpp"

#include "forecast/calibrate/calibrate.hpp"
#include "forecast/law/maximum.hpp"
#include "forecast/sample/read.hpp"
#include "forecast/scenario/resize.hpp"
#include "forecast/scenario/scenario_parts.hpp"

namespace cox::forecast {
namespace {

TimeEstimate time(double seconds) {
  return {.value = Seconds{seconds}, .low = Seconds{seconds}, .high = Seconds{seconds}};
}

/// 16 ranks on four nodes, 10 ms of work with a tail, a millisecond of communication.
Parts parts() {
  PositionParts p;
  p.level = time(10e-3);
  p.node_step = time(0.2e-3);
  p.node_step_skewness = 1;
  const Seconds body[] = {Seconds{-1e-3}, Seconds{-0.2e-3}, Seconds{0.9e-3}};
  p.residual = Law::quantiles(
      body, {.threshold = body[2], .scale = Seconds{0.5e-3}, .shape = 0.2, .probability = 0.05});
  p.residual = p.residual.plus(-p.residual.mean());
  p.residual_sd = time(p.residual.deviation().count());
  p.tail_probability = 0.05;
  p.tail_shape = {.value = 0.2, .low = 0.2, .high = 0.2};
  Parts out;
  out.ranks = 16;
  out.ranks_per_node = 4;
  out.nodes = 4;
  out.steps = 4000;
  out.positions = {p};
  out.rest = time(1e-3);
  return out;
}

Sample sample(model::Collective kind, Bytes bytes) {
  Sample s;
  s.name = "job";
  s.positions.resize(1);
  s.positions[0].traffic = {.kind = kind, .bytes = bytes, .transfer = Seconds{1e-3}};
  return s;
}

TEST(Calibrated, TheScenarioSimulatesToWhatThePartsSay) {
  const Parts p = parts();
  const auto made = calibrated_scenario(p, sample(model::Collective::AllReduce, Bytes{1000}));
  ASSERT_TRUE(made) << made.error().to_string();
  EXPECT_EQ(made->scenario.cluster.nodes, 4);
  const auto outcome = simulate::simulate(made->scenario, {.threads = 1});
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  const Nest nest{.own = p.positions[0].residual,
                  .node = Law::shifted_gamma(Seconds{}, Seconds{0.2e-3}, 1),
                  .group = {},
                  .common = {},
                  .ranks_per_node = 4};
  const Seconds step = Seconds{11e-3} + Maximum(nest, 16).mean();
  EXPECT_NEAR(outcome->step_ends.back().count() / 4000 / step.count(), 1, 0.004);
}

TEST(Calibrated, WhatIsWrittenIsRead) {
  for (const Bytes bytes : {Bytes{1000}, Bytes{100'000'000}}) {
    const auto made = calibrated_scenario(parts(), sample(model::Collective::AllReduce, bytes));
    ASSERT_TRUE(made);
    const auto read = model::parse_scenario(model::scenario_toml(made->scenario), "job.toml", ".");
    ASSERT_TRUE(read) << read.error().to_string();
    const auto parts_read = parts_of(read->scenario);
    ASSERT_TRUE(parts_read);
    EXPECT_NEAR(parts_read->rest.value.count(), 1e-3, 1e-9);
  }
}

TEST(Calibrated, ItsPartsAreThoseThatItWasMadeFrom) {
  const auto made = calibrated_scenario(parts(), sample(model::Collective::AllReduce, Bytes{1000}));
  ASSERT_TRUE(made);
  const auto again = parts_of(made->scenario);
  ASSERT_TRUE(again) << again.error().to_string();
  const PositionParts& p = again->positions.front();
  EXPECT_NEAR(p.level.value.count(), 10e-3, 2e-5);
  EXPECT_NEAR(again->rest.value.count(), 1e-3, 1e-9);
  EXPECT_NEAR(p.node_step.value.count(), 0.2e-3, 0.01e-3);
  EXPECT_NEAR(p.residual_sd.value / parts().positions[0].residual_sd.value, 1, 0.01);
}

TEST(Calibrated, CommunicationIsPricedAsTheCollectiveAtOtherSizes) {
  const RestAt small = rest_of(parts(), sample(model::Collective::AllReduce, Bytes{1000}));
  EXPECT_NEAR(small(16).value.count(), 1e-3, 1e-12);
  EXPECT_NEAR(small(256).value.count(), 2e-3, 1e-9) << "rounds: 8 instead of 4";
  EXPECT_LE(small(256).low, Seconds{1e-3});
  EXPECT_GE(small(256).high, Seconds{2e-3});
  for (std::int64_t n = 16; n < 5000; ++n) EXPECT_LE(small(n).value, small(n + 1).value) << "no jumps";
  const RestAt large = rest_of(parts(), sample(model::Collective::AllReduce, Bytes{100'000'000}));
  EXPECT_NEAR(large(1 << 20).value.count(), 1e-3 * 16 / 15, 1e-5) << "2 (N-1) / N of the bytes";
  EXPECT_GE(large(1 << 20).high, 2 * large(1 << 20).value);
  EXPECT_EQ(large(1 << 20).origin, Origin::Range);
}

TEST(Calibrated, SlowNodesAreAsFrequentAsTheyWereSeen) {
  Parts p = parts();
  p.positions[0].slow = {.seen = 1, .of = 4, .extra = Seconds{3e-3}};
  const auto made = calibrated_scenario(p, sample(model::Collective::AllReduce, Bytes{8}));
  ASSERT_TRUE(made);
  const auto at = std::find_if(made->scenario.noise.begin(), made->scenario.noise.end(),
                               [](const auto& n) { return n.name == "slow nodes"; });
  ASSERT_NE(at, made->scenario.noise.end());
  EXPECT_DOUBLE_EQ(at->probability, 0.25);
  EXPECT_EQ(at->scope, model::NoiseScope::Node);
}

Seconds simulated(const Calibrated& made) {
  const auto outcome = simulate::simulate(made.scenario, {.threads = 1});
  const auto steps = static_cast<double>(made.scenario.job.steps) / made.synchronisations;
  return outcome->step_ends.back() / steps;
}

TEST(Calibrated, UnlikeSynchronisationsAreAlikeOnesWithTheSameMeanStep) {
  Parts p = parts();
  p.positions.push_back(p.positions.front());
  p.positions.front().name = "1 of 2";
  p.positions.back().name = "2 of 2";
  p.positions.back().level = time(5e-3);
  p.positions.back().residual = p.positions.front().residual.times(3);
  p.positions.back().node_step = time(0.1e-3);
  const auto made = calibrated_scenario(p, sample(model::Collective::AllReduce, Bytes{8}));
  ASSERT_TRUE(made) << made.error().to_string();
  EXPECT_EQ(made->synchronisations, 2);
  EXPECT_EQ(made->scenario.job.steps, 8000);
  EXPECT_NEAR(simulated(*made) / project_one(p, 16, {}).mean.value, 1, 0.003);
  p.positions.back().level = time(0.1e-3);
  const auto barrier = calibrated_scenario(p, sample(model::Collective::AllReduce, Bytes{8}));
  ASSERT_TRUE(barrier);
  EXPECT_EQ(barrier->synchronisations, 1) << "a barrier right behind the first is no work";
  EXPECT_NEAR(barrier->scenario.job.as<model::CollectiveJob>().compute.count(), 10.1e-3, 1e-9);
}

TEST(Calibrated, RolesAreNamedRanks) {
  Parts p = parts();
  p.positions.push_back(p.positions.front());
  p.positions[0].ranks = 12;
  p.positions[1].ranks = 4;
  p.positions[1].role = 1;
  p.positions[1].level = time(10.5e-3);
  p.positions[1].residual = p.positions[0].residual.times(2);
  Sample seen = sample(model::Collective::AllReduce, Bytes{8});
  for (int r = 0; r < 16; ++r) seen.ranks.push_back({.rank = r, .role = r % 4 == 3 ? 1 : 0});
  const auto made = calibrated_scenario(p, seen);
  ASSERT_TRUE(made) << made.error().to_string();
  EXPECT_EQ(made->synchronisations, 1);
  EXPECT_NEAR(simulated(*made) / project_one(p, 16, {}).mean.value, 1, 0.005);
  const auto read = model::parse_scenario(model::scenario_toml(made->scenario), "job.toml", ".");
  ASSERT_TRUE(read) << read.error().to_string();
}

TEST(Calibrated, WithoutOwnWorkThereIsNone) {
  Parts p = parts();
  p.positions.clear();
  EXPECT_EQ(calibrated_scenario(p, sample(model::Collective::AllReduce, Bytes{8})).error().id,
            "forecast-005");
}

// Ring of 16: 30 rounds of a sixteenth each. 40 % of a millisecond is latency, as two sizes tell: 13.3 us a message.
TEST(Calibrated, SizesOfMessagesPartLatencyFromBandwidth) {
  const Parts p = parts();
  Sample s = sample(model::Collective::AllReduce, Bytes{16'000'000});
  s.ranks.resize(16);
  for (const std::int64_t bytes : {160'000, 16'000'000})
    s.record.messages.push_back(
        {.kind = model::Collective::AllReduce,
         .ranks = 16,
         .bytes = Bytes{bytes},
         .times = std::vector<Seconds>(20, Seconds{0.4e-3 + 0.6e-3 * static_cast<double>(bytes) / 16e6})});
  const auto made = calibrated_scenario(p, s);
  ASSERT_TRUE(made) << made.error().to_string();
  EXPECT_NEAR(made->scenario.across.latency.count(), 0.4e-3 / 30, 1e-9);
  EXPECT_NEAR(made->scenario.across.per_byte.in_seconds_per_byte(), 0.6e-3 / 30e6, 1e-15);
  // Four times the ranks: 126 rounds, and 126 / 64 of the bytes instead of 30 / 16.
  const double expected = 0.4 * 126 / 30 + 0.6 * (126.0 / 64) / (30.0 / 16);
  EXPECT_NEAR(rest_of(p, s)(64).value.count(), 1e-3 * expected, 1e-8);
}

/// 16 ranks whose sums of 40 and 80 MB over links of so many GB/s run beside 72 ms of work.
model::Scenario overlapping(double gbyte_per_s) {
  model::Scenario s;
  s.cluster.nodes = 16;
  s.across =
      s.inside = {.latency = Seconds{5e-6}, .per_byte = Bandwidth::gbyte_per_s(gbyte_per_s).time_per_byte()};
  s.job.steps = 300;
  model::TrainingJob job;
  job.layout.data = 16;
  const model::Layer layer{
      .forward = Seconds{2e-3}, .backward = Seconds{4e-3}, .gradients = Bytes{40'000'000}, .activations = {}};
  job.layers.assign(12, layer);
  job.layers[3].gradients = Bytes{80'000'000};
  job.bucket = Bytes{40'000'000};
  s.job.work = job;
  s.noise.resize(1);
  s.noise[0].law = model::NoiseLaw::Gaussian;
  s.noise[0].cv = 0.03;
  return s;
}

Calibrated calibrated(const model::Scenario& job) {
  const auto outcome = simulate::simulate(job, {.threads = 1, .want_run = true});
  const auto sample = sample_of(*outcome->run, 1);
  EXPECT_TRUE(sample) << sample.error().to_string();
  auto made = calibrated_scenario(*calibrate(*sample), *sample);
  EXPECT_TRUE(made);
  return *std::move(made);
}

double step_of(model::Scenario s, std::int64_t ranks, double bandwidth = 1) {
  s = resized(std::move(s), ranks);
  s.job.steps = ranks > 16 ? 20 : 200;
  s.seed = 7;
  for (model::MessageCost* cost : {&s.across, &s.inside})
    cost->per_byte = TimePerByte::seconds_per_byte(cost->per_byte.in_seconds_per_byte() / bandwidth);
  const auto outcome = simulate::simulate(s, {.threads = 1});
  EXPECT_TRUE(outcome) << outcome.error().to_string();
  return outcome ? outcome->step_ends.back().count() / s.job.steps : 0;
}

// A collective behind the work takes half as long with links twice as fast, whatever was hidden; and does not surface at other sizes.
TEST(Calibrated, SumsBesideWorkAreBesideItsWork) {
  for (const double gbyte_per_s : {5.0, 15.0}) {
    const model::Scenario job = overlapping(gbyte_per_s);
    const Calibrated made = calibrated(job);
    EXPECT_TRUE(made.overlaps);
    EXPECT_EQ(made.exchange.bytes, Bytes{520'000'000});
    const double step = step_of(job, 16);
    EXPECT_NEAR(step_of(made.scenario, 16) / step, 1, 0.003);
    EXPECT_NEAR(step_of(made.scenario, 16, 2) / step_of(job, 16, 2), 1, 0.01) << gbyte_per_s;
    EXPECT_NEAR(step_of(made.scenario, 64) / step_of(job, 64), 1, 0.03) << gbyte_per_s;
    const auto read = model::parse_scenario(model::scenario_toml(made.scenario), "job.toml", ".");
    ASSERT_TRUE(read) << read.error().to_string();
    EXPECT_NEAR(step_of(read->scenario, 16) / step, 1, 0.003);
    const auto larger =
        model::parse_scenario(model::scenario_toml(resized(made.scenario, 64)), "job.toml", ".");
    EXPECT_TRUE(larger);
    EXPECT_EQ(model::scenario_toml(made.scenario).find("layout.data"), std::string::npos)
        << "other sizes have other replicas";
  }
}

TEST(Calibrated, SumsBehindTheWorkAreACollective) {
  model::Scenario job = overlapping(5);
  job.job.as<model::TrainingJob>().overlap = false;
  const Calibrated made = calibrated(job);
  EXPECT_FALSE(made.overlaps);
  EXPECT_EQ(made.scenario.job.workload(), model::Workload::Collective);
}

}  // namespace
}  // namespace cox::forecast
