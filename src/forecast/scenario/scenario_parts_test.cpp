// SPDX-License-Identifier: Apache-2.0
#include "forecast/scenario/scenario_parts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cox/simulate/outcome.hpp"

#include "forecast/law/maximum.hpp"
#include "forecast/regimes/amplification.hpp"
#include "forecast/regimes/parts_job.hpp"
#include "forecast/scenario/resize.hpp"

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

NoiseSource extra(double ratio, model::NoisePattern pattern, std::vector<int> ranks = {}) {
  NoiseSource n = source(NoiseLaw::Constant, 0, Rank, pattern);
  n.mean_ratio = ratio;
  n.ranks = std::move(ranks);
  return n;
}

TEST(PartsOfScenario, FewRanksBurstsAndSwitchesGiveTheStepThatSimulationGives) {
  const NoiseSource jitter = source(NoiseLaw::Gaussian, 0.05);
  NoiseSource recurring = extra(0.3, Recurring);
  recurring.period_steps = 40;
  NoiseSource bursts = extra(0.2, EveryStep);
  bursts.burst_steps = 10;
  bursts.calm_steps = 490;
  NoiseSource turns = source(NoiseLaw::Exponential, 0, Node, Rotating);
  turns.mean_ratio = 0.2;
  turns.period_steps = 3;
  NoiseSource throttled = source(NoiseLaw::Bimodal, 0, Switch);
  throttled.mean_ratio = 0.3;
  throttled.probability = 0.02;
  NoiseSource drift = extra(0.2, Drift);
  drift.period_steps = 2500;
  NoiseSource dips = source(NoiseLaw::Constant, 0, Global);
  dips.target = model::NoiseTarget::Message;
  dips.mean_ratio = 5;
  dips.probability = 0.2;
  const std::vector<std::vector<NoiseSource>> cases = {
      {jitter, extra(0.1, Persistent, {17})},
      {jitter, extra(0.1, EveryStep, {3, 4}), extra(0.08, EveryStep, {5})},
      {jitter, extra(0.15, Rotating)},
      {jitter, turns},
      {jitter, recurring},
      {jitter, bursts},
      {source(NoiseLaw::Gaussian, 0.01), throttled},
      {jitter, drift},
      {jitter, dips}};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    model::Scenario s = job(8, 4, cases[i]);
    s.fabric.hosts_per_leaf = 2;
    s.job.steps = 4000;
    const auto parts = parts_of(s);
    ASSERT_TRUE(parts) << parts.error().to_string();
    EXPECT_NEAR(project_one(*parts, 32, {}).mean.value / simulated(s), 1, 0.006) << "case " << i;
  }
}

TEST(PartsOfScenario, NodesOfAClassAreRanksOfTheirOwn) {
  model::Scenario s = job(8, 4, {source(NoiseLaw::Gaussian, 0.05)});
  s.cluster.classes = {{.name = "old", .first = 5, .count = 2, .speed = 0.95}};
  for (const std::int64_t ranks : {32, 256}) {
    const model::Scenario at = resized(s, ranks);
    const auto parts = parts_of(at);
    ASSERT_TRUE(parts) << parts.error().to_string();
    const Seconds simulated_step = simulated(at);
    ProjectOptions options;
    options.rest = rest_of(s);
    EXPECT_NEAR(project_one(*parts_of(s), ranks, options).mean.value / simulated_step, 1, 0.005) << ranks;
  }
}

TEST(PartsOfScenario, NamedRanksAreAsManyAtAnySize) {
  const auto parts = parts_of(job(8, 4, {extra(0.1, Persistent, {17})}));
  ASSERT_TRUE(parts);
  for (const std::int64_t n : {32, 4096})
    EXPECT_NEAR(project_one(*parts, n, {}).mean.value.count() - parts->rest.value.count(), 11e-3, 1e-9);
}

TEST(PartsOfScenario, WhatHasNoCounterpartIsSaid) {
  NoiseSource message = source(NoiseLaw::Gaussian, 0.1);
  message.target = model::NoiseTarget::Message;
  message.ranks = {1};
  NoiseSource named = source(NoiseLaw::Gaussian, 0.1);
  named.ranks = {1};
  NoiseSource others = named;
  others.ranks = {1, 2};
  NoiseSource once = source(NoiseLaw::Constant, 0, Rank, Once);
  once.mean_ratio = 1;
  NoiseSource off = source(NoiseLaw::Gaussian, 0.1, Rail);
  off.off = true;
  const auto parts =
      parts_of(job(4, 2, {message, named, others, once, off, source(NoiseLaw::Gaussian, 0.1, Rail)}));
  ASSERT_TRUE(parts);
  ASSERT_EQ(parts->untold.size(), 5U);
  for (const char* what : {"named ranks, which", "names with others", "happens once", "a rail or a stage"})
    EXPECT_TRUE(std::ranges::any_of(parts->untold, [what](const auto& t) {
      return t.find(what) != std::string::npos;
    })) << what;
}

TEST(PartsOfScenario, JobsThatDoNotMeetInEveryStepAreRefused) {
  model::Scenario s = job(4, 2, {});
  s.policy.kind = model::PolicyKind::Asynchronous;
  EXPECT_EQ(parts_of(s).error().id, "forecast-004");
  s = job(4, 2, {});
  s.job.work = model::GoalJob{.file = "x.goal"};
  EXPECT_EQ(parts_of(s).error().id, "forecast-004");
}

TEST(PartsOfScenario, EachSourceIsSwitchedOffUnderItsName) {
  NoiseSource named = source(NoiseLaw::Gaussian, 0.05);
  named.name = "jitter";
  NoiseSource detour = source(NoiseLaw::Bimodal, 0);
  detour.relative = false;
  detour.mean = Seconds{5e-3};
  detour.probability = 0.01;
  NoiseSource messages = source(NoiseLaw::Gaussian, 0.05);
  messages.target = model::NoiseTarget::Message;
  const model::Scenario s = job(8, 2, {named, messages, detour});
  const auto sources = work_sources_of(s);
  ASSERT_TRUE(sources) << sources.error().to_string();
  EXPECT_EQ(sources->names, (std::vector<std::string>{"jitter", "bimodal noise"}));
  EXPECT_EQ(sources->positions(1)[0].residual.deviation(),
            parts_of(job(8, 2, {detour}))->positions[0].residual.deviation());
  EXPECT_EQ(sources->positions(2)[0].residual.deviation(),
            parts_of(job(8, 2, {named}))->positions[0].residual.deviation());
  EXPECT_TRUE(sources->positions(3)[0].residual.is_constant());
  EXPECT_EQ(sources->positions(3)[0].level.value, Seconds{10e-3});
}

TEST(PartsOfScenario, ANamedRankMakesStepsLongerByWhatItIsSlower) {
  NoiseSource slow = source(NoiseLaw::Constant, 0, Rank, Persistent);
  slow.mean_ratio = 0.1;
  slow.ranks = {3};
  model::Scenario s = job(16, 1, {slow});
  const auto parts = parts_of(s);
  ASSERT_TRUE(parts) << parts.error().to_string();
  ASSERT_EQ(parts->positions.size(), 2U) << "the rank, and the others";
  const auto sources = work_sources_of(s);
  ASSERT_TRUE(sources) << sources.error().to_string();
  PartsJobOptions options{.sources = *sources, .replicates = 0};
  const ScalingJob scaling = job_of_parts(*parts, options).job;
  const double work = parts->positions[0].level.value.count();
  const double step = work + parts->rest.value.count();
  for (const std::int64_t ranks : {16, 64})
    EXPECT_NEAR(amplification_of(scaling, ranks).whole, 1 + 0.1 * work / step, 1e-9);
}

TEST(PartsOfScenario, TwoSourcesOfOneNameAreTold) {
  const auto two =
      work_sources_of(job(8, 2, {source(NoiseLaw::Gaussian, 0.05), source(NoiseLaw::Gaussian, 0.02, Node)}));
  ASSERT_TRUE(two);
  EXPECT_EQ(two->names, (std::vector<std::string>{"gaussian noise (noise 0)", "gaussian noise (noise 1)"}));
  EXPECT_TRUE(work_sources_of(job(8, 2, std::vector(5, source(NoiseLaw::Gaussian, 0.05))))->names.empty())
      << "too many to add up without each";
}

TEST(PartsOfScenario, WhatASimulationRefusesIsRefused) {
  const auto made = parts_of(job(4, 2, {source(NoiseLaw::Gaussian, 0)}));
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().id, "simulate-001");
}

}  // namespace
}  // namespace cox::forecast
