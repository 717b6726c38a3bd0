// SPDX-License-Identifier: Apache-2.0
#include "cox/forecast/scenario_parts.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "cox/forecast/maximum.hpp"
#include "cox/simulate/outcome.hpp"

namespace cox::forecast {
namespace {

using enum model::NoiseScope;
using enum model::NoisePattern;
using model::NoiseLaw;
using model::NoiseSource;

model::Scenario job(int nodes, int devices, std::vector<NoiseSource> noise) {
  model::Scenario s;
  s.cluster.nodes = nodes;
  s.cluster.devices_per_node = devices;
  s.across = s.inside = {.latency = Seconds{1e-6}};
  s.job.steps = 500;
  model::CollectiveJob work;
  work.compute = Seconds{10e-3};
  work.collective.ranks = nodes * devices;
  work.collective.bytes = Bytes{8};
  s.job.work = work;
  s.noise = std::move(noise);
  return s;
}

NoiseSource source(NoiseLaw law, double cv, model::NoiseScope scope = Rank,
                   model::NoisePattern pattern = EveryStep) {
  NoiseSource n;
  n.law = law;
  n.cv = cv;
  n.scope = scope;
  n.pattern = pattern;
  return n;
}

/// The slowest of all by the parts: what a simulated step lasts, without communication.
Seconds slowest(const Parts& parts) {
  const PositionParts& p = parts.positions.front();
  const auto normal = [](Seconds sd) { return sd > Seconds{} ? Law::normal(Seconds{}, sd) : Law(); };
  const Nest nest{.own = p.residual,
                  .node = p.node_step.value > Seconds{}
                              ? Law::shifted_gamma(Seconds{}, p.node_step.value, p.node_step_skewness)
                              : Law(),
                  .group = {},
                  .common = normal(p.step.value),
                  .ranks_per_node = parts.ranks_per_node};
  return p.level.value + Maximum(nest, parts.ranks).mean();
}

Seconds simulated(model::Scenario s) {
  s.job.steps = 4000;
  const auto outcome = simulate::simulate(s, {.threads = 1});
  return outcome->step_ends.back() / 4000.0;
}

TEST(PartsOfScenario, LawsAndScopesGiveTheStepThatSimulationGives) {
  NoiseSource detour;
  detour.law = NoiseLaw::Bimodal;
  detour.relative = false;
  detour.mean = Seconds{5e-3};
  detour.probability = 0.01;
  NoiseSource half = source(NoiseLaw::Exponential, 0);
  half.mean_ratio = 0.1;
  half.probability = 0.5;
  const std::vector<std::vector<NoiseSource>> cases = {
      {source(NoiseLaw::Gaussian, 0.05)},
      {source(NoiseLaw::Lognormal, 0.2)},
      {source(NoiseLaw::Uniform, 0.1)},
      {detour},
      {half},
      {source(NoiseLaw::Gaussian, 0.05), detour},
      {source(NoiseLaw::Gaussian, 0.02), source(NoiseLaw::Gaussian, 0.05, Node)},
      {source(NoiseLaw::Gaussian, 0.02), source(NoiseLaw::Gaussian, 0.05, Global)},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const model::Scenario s = job(8, 4, cases[i]);
    const auto parts = parts_of(s);
    ASSERT_TRUE(parts) << parts.error().to_string();
    EXPECT_TRUE(parts->untold.empty());
    EXPECT_NEAR(slowest(*parts) / (simulated(s) - parts->rest.value), 1, 0.005) << "case " << i;
  }
}

TEST(PartsOfScenario, PersistentPartsAndDriftAreApart) {
  const auto parts = parts_of(job(4, 2,
                                  {source(NoiseLaw::Gaussian, 0.05, Rank, Persistent),
                                   source(NoiseLaw::Gaussian, 0.02, Node, Persistent)}));
  ASSERT_TRUE(parts);
  const PositionParts& p = parts->positions.front();
  EXPECT_NEAR(p.rank.value.count(), 0.5e-3, 1e-9);
  EXPECT_NEAR(p.node.value.count(), 0.2e-3, 1e-9);
  EXPECT_EQ(p.residual_sd.value, Seconds{});
  EXPECT_EQ(p.level.origin, Origin::Stated);
}

/// Tensor 2 x pipeline 4 x data 8: 6 ms a micro-batch and stage.
model::Scenario pipeline(model::PipelineSchedule schedule, std::vector<NoiseSource> noise) {
  model::Scenario s = job(8, 8, std::move(noise));
  model::TrainingJob work;
  work.layout = {.data = 8, .tensor = 2, .pipeline = 4};
  work.layers.assign(8, {.forward = Seconds{1e-3}, .backward = Seconds{2e-3}, .gradients = Bytes{1000}});
  work.micro_batches = 8;
  work.schedule = schedule;
  work.interleave = schedule == model::PipelineSchedule::Interleaved ? 2 : 1;
  s.job.work = work;
  return s;
}

TEST(PartsOfScenario, APipelinesStepIsWhatSimulationGives) {
  using enum model::PipelineSchedule;
  NoiseSource exponential = source(NoiseLaw::Exponential, 0);
  exponential.mean_ratio = 0.05;
  struct Case {
    model::PipelineSchedule schedule;
    std::vector<NoiseSource> noise;
    double within;
  };
  const std::vector<Case> cases = {
      {GPipe, {}, 1e-6},
      {OneForwardOneBackward, {}, 1e-6},
      {GPipe, {source(NoiseLaw::Gaussian, 0.05)}, 0.003},
      {GPipe, {exponential}, 0.003},
      {OneForwardOneBackward, {source(NoiseLaw::Gaussian, 0.05)}, 0.003},
      {OneForwardOneBackward, {exponential}, 0.005},
      {OneForwardOneBackward, {source(NoiseLaw::Gaussian, 0.05, Node)}, 0.003},
      {OneForwardOneBackward, {source(NoiseLaw::Gaussian, 0.05, Global)}, 0.003},
      {Interleaved, {source(NoiseLaw::Gaussian, 0.05)}, 0.025},
      {ZeroBubble, {source(NoiseLaw::Gaussian, 0.05)}, 0.02},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    model::Scenario s = pipeline(cases[i].schedule, cases[i].noise);
    const auto parts = parts_of(s);
    ASSERT_TRUE(parts) << parts.error().to_string();
    s.job.steps = 1000;
    const auto outcome = simulate::simulate(s, {.threads = 1});
    ASSERT_TRUE(outcome);
    const Seconds told = project_one(*parts, 64, {}).mean.value;
    EXPECT_NEAR(told / (outcome->step_ends.back() / 1000), 1, cases[i].within) << "case " << i;
  }
}

TEST(PartsOfScenario, WhatHasNoCounterpartIsSaid) {
  NoiseSource message = source(NoiseLaw::Gaussian, 0.1);
  message.target = model::NoiseTarget::Message;
  NoiseSource named = source(NoiseLaw::Gaussian, 0.1);
  named.ranks = {1};
  NoiseSource once = source(NoiseLaw::Constant, 0, Rank, Once);
  once.mean_ratio = 1;
  NoiseSource off = source(NoiseLaw::Gaussian, 0.1, Switch);
  off.off = true;
  const auto parts =
      parts_of(job(4, 2, {message, named, once, off, source(NoiseLaw::Gaussian, 0.1, Switch)}));
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->untold.size(), 4U);
}

TEST(PartsOfScenario, JobsThatDoNotMeetInEveryStepAreRefused) {
  model::Scenario s = job(4, 2, {});
  s.policy.kind = model::PolicyKind::Asynchronous;
  EXPECT_EQ(parts_of(s).error().id, "forecast-004");
  s = job(4, 2, {});
  s.job.work = model::GoalJob{.file = "x.goal"};
  EXPECT_EQ(parts_of(s).error().id, "forecast-004");
}

}  // namespace
}  // namespace cox::forecast
