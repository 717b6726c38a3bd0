// SPDX-License-Identifier: Apache-2.0
// What one step leaves for the next: overlap that feeds back. And messages of a step that are lost.
#include <gtest/gtest.h>

#include <vector>

#include "cox/simulate/training.hpp"

#include "simulate/training/scenarios.hpp"

namespace cox::simulate {
namespace {

using namespace testing;

std::vector<double> step_times_ms(const model::Scenario& s, bool memo = true) {
  const auto out = simulate_training(s, {.memo = memo});
  EXPECT_TRUE(out) << out.error().to_string();
  std::vector<double> all;
  double before = 0;
  for (const Seconds end : out->step_ends) {
    all.push_back(end.count() * 1e3 - before);
    before = end.count() * 1e3;
  }
  return all;
}

/// Two replicas, one layer: all of its communication comes after the backward pass. 2 rounds of 2 MB at 1 GB/s: 4 ms
/// are exposed.
model::Scenario fed_back(double feedback) {
  model::Scenario s = data_parallel(2, 1);
  s.across = {.latency = {}, .per_byte = Bandwidth::gbyte_per_s(1).time_per_byte()};
  work_of(s).layers[0].gradients = Bytes{4'000'000};
  work_of(s).overlap_feedback = feedback;
  work_of(s).overlap_threshold = Seconds{6e-3};
  s.job.steps = 40;
  return s;
}
constexpr double kCompute = 1 + 2 + 0.4;  // ms

// exposed' = 4 ms + g max(0, 6 ms - exposed). Below g = 1 it settles at (4 + 6 g) / (1 + g).
TEST(OverlapFeedback, SettlesBelowOne) {
  for (const bool memo : {true, false}) {
    const auto t = step_times_ms(fed_back(0.5), memo);
    EXPECT_NEAR(t[0], kCompute + 4, 1e-9);
    EXPECT_NEAR(t[1], kCompute + 5, 1e-9);    // 4 + 0.5 x 2
    EXPECT_NEAR(t[2], kCompute + 4.5, 1e-9);  // 4 + 0.5 x 1
    EXPECT_NEAR(t[39], kCompute + 7.0 / 1.5, 1e-9);
  }
}

// From one on it alternates: 4, then 4 + 1.5 x 2 = 7, which is above the threshold, then 4 again.
TEST(OverlapFeedback, AlternatesAboveOne) {
  for (const bool memo : {true, false}) {
    const auto t = step_times_ms(fed_back(1.5), memo);
    for (std::size_t k = 0; k < t.size(); ++k) EXPECT_NEAR(t[k], kCompute + (k % 2 == 0 ? 4 : 7), 1e-9) << k;
  }
}

TEST(OverlapFeedback, NothingIsBelowTheThreshold) {
  model::Scenario s = fed_back(1.5);
  work_of(s).overlap_threshold = Seconds{4e-3};
  for (const double t : step_times_ms(s)) EXPECT_NEAR(t, kCompute + 4, 1e-9);
  // The same on a network.
  s = fed_back(1.5);
  s.cluster.nic = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(1)};
  s.fabric.link = s.cluster.nic;
  s.engine = model::EngineKind::Flow;
  const auto t = step_times_ms(s);
  for (std::size_t k = 0; k < t.size(); ++k) EXPECT_NEAR(t[k], kCompute + (k % 2 == 0 ? 4 : 7), 1e-9) << k;
}

// A step's accounts still add up: the longer wait is part of what is exposed.
TEST(OverlapFeedback, IsExposedCommunication) {
  model::Scenario s = fed_back(1.5);
  s.job.steps = 2;
  const auto step = analyse_step(s, 1);
  ASSERT_TRUE(step) << step.error().to_string();
  expect_adds_up(*step, "fed back");
}

model::Scenario lossy(model::Layout layout, int nodes, int devices) {
  model::Scenario s = data_parallel(2, 8);
  s.cluster = cluster(nodes, devices);
  s.cluster.nic = {.latency = Seconds{5e-6}, .bandwidth = Bandwidth::gbyte_per_s(25)};
  s.cluster.nics_per_node = devices;
  s.cluster.scale_up = {.latency = Seconds{1e-6}, .bandwidth = Bandwidth::gbyte_per_s(300)};
  s.fabric.link = s.cluster.nic;
  s.fabric.timeouts = {.wait = Seconds{30e-3}, .loss = 0.02};
  work_of(s).layout = layout;
  for (model::Layer& l : work_of(s).layers) l.activations = Bytes{1'000'000};
  s.job.steps = 10;
  return s;
}

// Where nothing is shared, a step by max-plus and one on the network lose the same messages and end together.
TEST(Losses, AreTheSameForBothEnginesOfAStep) {
  int disturbed = 0;
  for (model::Scenario s : {lossy({.data = 8}, 8, 1), lossy({.data = 4, .tensor = 2}, 4, 2),
                            lossy({.data = 1, .pipeline = 4}, 4, 1)}) {
    work_of(s).micro_batches = work_of(s).layout.pipeline;
    s.engine = model::EngineKind::MaxPlus;
    const auto alone = step_times_ms(s);
    s.engine = model::EngineKind::Flow;
    const auto shared = step_times_ms(s);
    s.fabric.timeouts = {};
    const auto undisturbed = step_times_ms(s);
    for (std::size_t k = 0; k < alone.size(); ++k) {
      EXPECT_NEAR(alone[k], shared[k], 1e-6 * alone[k]) << work_of(s).layout.tensor << " step " << k;
      disturbed += alone[k] > undisturbed[k] + 29 ? 1 : 0;
    }
  }
  EXPECT_GT(disturbed, 10);
}

}  // namespace
}  // namespace cox::simulate
