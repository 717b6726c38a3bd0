// SPDX-License-Identifier: Apache-2.0
#include "simulate/training/step/step_loads.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "cox/simulate/training.hpp"

#include "simulate/training/scenarios.hpp"

namespace cox::simulate::training {
namespace {

using testing::work_of;

Outcome by(model::Scenario s, model::EngineKind engine) {
  s.engine = engine;
  const auto made = simulate_training(s, {});
  EXPECT_TRUE(made) << made.error().to_string();
  return made ? *made : Outcome{};
}

/// On nodes of so many devices, one card a node, one switch between all.
model::Scenario job(model::Layout layout, int devices) {
  model::Scenario s;
  model::TrainingJob work;
  work.layout = layout;
  work.layers.assign(4, {.forward = Seconds{1e-3},
                         .backward = Seconds{2e-3},
                         .gradients = Bytes{8'000'000},
                         .activations = Bytes{2'000'000}});
  work.bucket = Bytes{8'000'000};
  work.micro_batches = 2;
  s.job.work = work;
  s.job.steps = 2;
  s.cluster.devices_per_node = devices;
  s.cluster.nodes = layout.data * layout.tensor * layout.context * layout.pipeline / devices;
  s.cluster.nics_per_node = 1;
  s.cluster.nic.bandwidth = Bandwidth::gbyte_per_s(1);
  s.cluster.scale_up.bandwidth = Bandwidth::gbyte_per_s(100);
  s.inside = {.per_byte = s.cluster.scale_up.bandwidth.time_per_byte()};
  s.across = {.per_byte = s.cluster.nic.bandwidth.time_per_byte()};
  return s;
}

TEST(StepLoads, AreThoseOfTheLinksByFlow) {
  for (const auto& [layout, devices] : {std::pair<model::Layout, int>{{.data = 8}, 1},
                                        {{.data = 4, .pipeline = 4}, 1},
                                        {{.data = 4, .tensor = 2}, 2},
                                        {{.data = 2, .tensor = 4}, 2},
                                        {{.data = 2, .context = 4}, 2},
                                        {{.data = 4, .tensor = 2, .pipeline = 2}, 4}})
    for (const int zero : {0, 3}) {
      model::Scenario s = job(layout, devices);
      work_of(s).zero_stage = zero;
      const Outcome counted = by(s, model::EngineKind::MaxPlus);
      ASSERT_TRUE(counted.busiest_port);
      const Outcome played = by(s, model::EngineKind::Flow);
      EXPECT_FALSE(played.busiest_port);
      double most = 0;
      for (const LinkLoad& link : played.links)
        if (link.name.find("switch") != std::string::npos)
          most = std::max(most, static_cast<double>(link.bytes.count()));
      EXPECT_NEAR(static_cast<double>(counted.busiest_port->bytes.count()), most, 1e-6 * most)
          << layout.data << " x " << layout.tensor << " x " << layout.context << " x " << layout.pipeline
          << ", ZeRO " << zero;
    }
}

// Bytes are those of the steps that counted, and so is the time: what a job does besides and again is in neither.
TEST(StepLoads, FailuresChangeNeitherBytesNorTheirRate) {
  model::Scenario s = job({.data = 8}, 1);
  s.job.steps = 50;
  const Outcome without = by(s, model::EngineKind::MaxPlus);
  s.failures.job_mtbf = Seconds{3};
  s.failures.restart = Seconds{5};
  const Outcome with = by(s, model::EngineKind::MaxPlus);
  ASSERT_GT(with.total, without.total + Seconds{5});
  ASSERT_TRUE(with.busiest_port && without.busiest_port);
  EXPECT_EQ(with.busiest_port->bytes, without.busiest_port->bytes);
  EXPECT_NEAR(with.busiest_port->utilisation_ratio, without.busiest_port->utilisation_ratio, 1e-9);
}

TEST(StepLoads, LocalStepsSumOnlyWhereTheyMeet) {
  model::Scenario s = job({.data = 8}, 1);
  s.job.steps = 6;
  s.policy.kind = model::PolicyKind::LocalSgd;
  s.policy.local_steps = 3;
  const Outcome o = by(s, model::EngineKind::MaxPlus);
  ASSERT_TRUE(o.busiest_port);
  EXPECT_EQ(o.busiest_port->bytes, Bytes{2 * 4 * 14'000'000});  // twice four buckets, 2 x 7 / 8 of each
}

/// Four workers of whom the slowest is never waited for.
model::Scenario backups(model::Layout layout, int devices) {
  model::Scenario s = job(layout, devices);
  s.job.steps = 5;
  s.policy = {.kind = model::PolicyKind::Backup, .backups = 1};
  model::NoiseSource slow = testing::slow_rank(0, 9);
  s.noise.push_back(slow);
  return s;
}

// Three of four meet in a ring: 4/3 of 32 MB a step, out of each card and into it.
TEST(StepLoads, OfBackupWorkersAreThoseOfTheirMeetings) {
  const Outcome o = by(backups({.data = 4}, 1), model::EngineKind::Event);
  ASSERT_TRUE(o.busiest_port);
  EXPECT_NEAR(static_cast<double>(o.busiest_port->bytes.count()), 5 * 32e6 * 4 / 3, 20);
  EXPECT_EQ(o.busiest_port->alike, 6) << "three cards, both directions";
  EXPECT_NEAR(o.busiest_port->utilisation_ratio, 5 * 32e6 * 4 / 3 / 1e9 / o.total.count(), 1e-6);
}

// 63 of 64 sum by a tree of 64 chunks: some 8,000 messages a meeting, four million in 500 of them. A rank with two below it sends
// its sum up and the parameters to both, and gets as much.
TEST(StepLoads, OfBackupWorkersAreCountedHoweverManyMeetingsThereAre) {
  model::Scenario s = backups({.data = 64}, 1);
  s.job.steps = 700;
  work_of(s).micro_batches = 1;
  work_of(s).collective.algorithm = model::Algorithm::BinaryTree;
  work_of(s).collective.chunks = 64;
  const Outcome o = by(s, model::EngineKind::Event);
  ASSERT_TRUE(o.busiest_port);
  EXPECT_EQ(o.busiest_port->bytes, Bytes{std::int64_t{700} * 3 * 32'000'000});
}

// On links the same messages are played.
TEST(StepLoads, OfBackupWorkersAreThoseOfTheLinksByFlow) {
  const model::Scenario s = backups({.data = 4}, 1);
  const Outcome counted = by(s, model::EngineKind::Event);
  const Outcome played = by(s, model::EngineKind::Flow);
  ASSERT_TRUE(counted.busiest_port);
  double most = 0;
  for (const LinkLoad& link : played.links) most = std::max(most, static_cast<double>(link.bytes.count()));
  EXPECT_NEAR(static_cast<double>(counted.busiest_port->bytes.count()), most, 1e-4 * most);
}

// Stages of a worker send 2 MB forward and back for two micro-batches, also that of the one who is late.
TEST(StepLoads, OfBackupWorkersHoldWhatTheyHaveWithinThemselves) {
  model::Scenario s = backups({.data = 4, .pipeline = 2}, 1);
  for (model::Layer& layer : work_of(s).layers) layer.gradients = {};
  s.noise.clear();
  const Outcome o = by(s, model::EngineKind::Event);
  ASSERT_TRUE(o.busiest_port);
  EXPECT_EQ(o.busiest_port->bytes, Bytes{5 * 2 * 2'000'000});
}

}  // namespace
}  // namespace cox::simulate::training
