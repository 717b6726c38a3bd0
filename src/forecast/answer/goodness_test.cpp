// SPDX-License-Identifier: Apache-2.0
#include "forecast/answer/goodness.hpp"

#include <gtest/gtest.h>

#include "cox/simulate/outcome.hpp"

#include "forecast/calibrate/calibrate.hpp"
#include "forecast/sample/read.hpp"
#include "forecast/scenario/scenario_parts.hpp"
#include "support/forecast_sample.hpp"

namespace cox::forecast {
namespace {

model::NoiseSource noise(double cv, model::NoiseScope scope, model::NoisePattern pattern) {
  model::NoiseSource n;
  n.law = model::NoiseLaw::Gaussian;
  n.scope = scope;
  n.pattern = pattern;
  n.cv = cv;
  return n;
}

model::Scenario job(std::vector<model::NoiseSource> sources) {
  model::Scenario s;
  s.cluster.nodes = 4;
  s.cluster.devices_per_node = 4;
  s.across = s.inside = {.latency = Seconds{1e-6}};
  s.job.steps = 400;
  model::CollectiveJob work;
  work.compute = Seconds{10e-3};
  work.collective.ranks = 16;
  work.collective.bytes = Bytes{8};
  s.job.work = work;
  s.noise = std::move(sources);
  return s;
}

Sample recorded(model::Scenario s, std::uint64_t seed) {
  s.seed = seed;
  const auto outcome = simulate::simulate(s, {.threads = 1, .want_run = true});
  auto sample = sample_of(*outcome->run, 1);
  EXPECT_TRUE(sample);
  return *std::move(sample);
}

using enum model::NoiseScope;
using enum model::NoisePattern;
const GoodnessOptions kSome{.simulations = 30, .threads = 1};

TEST(Goodness, AJobReproducesItself) {
  const model::Scenario s = job({noise(0.05, Rank, EveryStep), noise(0.02, Global, EveryStep)});
  int accepted = 0;
  for (std::uint64_t seed = 101; seed < 121; ++seed) {
    const auto g = compare_steps(s, recorded(s, seed), kSome);
    ASSERT_TRUE(g);
    accepted += g->reproduces ? 1 : 0;
    EXPECT_LT(g->distance, 0.2);
  }
  // Seven figures of 99.5 % or more: at 96 % each, fewer than 17 of 20 are chance of 1 %.
  EXPECT_GE(accepted, 17);
}

TEST(Goodness, ASharedPartThatIsMissingIsNamed) {
  const Sample with = recorded(job({noise(0.05, Rank, EveryStep), noise(0.05, Global, EveryStep)}), 7);
  const auto g = compare_steps(job({noise(0.05, Rank, EveryStep)}), with, kSome);
  ASSERT_TRUE(g);
  EXPECT_FALSE(g->reproduces);
  EXPECT_NE(g->because.find("share"), std::string::npos) << g->because;
  EXPECT_GT(g->distance, g->limit);
}

TEST(Goodness, APersistentPartThatIsMissingIsNamed) {
  const Sample with = recorded(job({noise(0.02, Rank, EveryStep), noise(0.05, Rank, Persistent)}), 7);
  const auto g = compare_steps(job({noise(0.054, Rank, EveryStep)}), with, kSome);
  ASSERT_TRUE(g);
  EXPECT_FALSE(g->reproduces);
  EXPECT_NE(g->because.find("one rank is last more often"), std::string::npos) << g->because;
}

/// Two synchronisations of a step, recorded one behind the other.
Sample two_positions(const test::KnownJob& first, const test::KnownJob& second) {
  Sample out = test::sample_of(first, 4, 4, 400, 1);
  const Sample behind = test::sample_of(second, 4, 4, 400, 2);
  out.positions[0].name = "1 of 2";
  out.positions.push_back(behind.positions[0]);
  out.positions[1].name = "2 of 2";
  for (std::size_t k = 0; k < out.steps.size(); ++k) out.steps[k].length += behind.steps[k].length;
  return out;
}

TEST(Goodness, AStepOfTwoSynchronisationsIsHeldAgainstTwoStepsOfItsScenario) {
  const auto compared = [](const test::KnownJob& first, const test::KnownJob& second) {
    const Sample sample = two_positions(first, second);
    auto parts = calibrate(sample);
    parts->rest.value = Seconds{14};
    const auto made = calibrated_scenario(*parts, sample);
    EXPECT_EQ(made->synchronisations, 2);
    GoodnessOptions options = kSome;
    options.synchronisations = 2;
    return *compare_steps(made->scenario, sample, options);
  };
  const Goodness alike = compared({.residual = 2}, {.residual = 2});
  EXPECT_TRUE(alike.reproduces) << alike.because;
  // Of two that are unlike the mean is kept, and what steps vary by is not.
  const Goodness unlike = compared({.residual = 0.5}, {.step = 3, .residual = 6});
  EXPECT_NEAR(unlike.figures[0].simulated / unlike.figures[0].recorded, 1, 0.01);
}

// One rank of sixteen is slow, and which and by how much each seed draws anew: the seed that is given takes what was recorded.
TEST(Goodness, TheNearestSeedTakesWhatWasRecorded) {
  const model::Scenario s = job({noise(0.3, Rank, Persistent), noise(0.02, Rank, EveryStep)});
  const Sample run = recorded(s, 1'000);
  const auto g = compare_steps(s, run, kSome);
  ASSERT_TRUE(g);
  EXPECT_TRUE(g->means.differ());
  EXPECT_LT(g->means.low, g->means.high);
  model::Scenario nearest = s;
  nearest.seed = g->means.seed;
  const auto played = simulate::simulate(nearest, {.threads = 1});
  ASSERT_TRUE(played);
  EXPECT_NEAR(played->total.count() / s.job.steps, g->means.nearest.count(), 0.01 * g->means.nearest.count());
  EXPECT_NEAR(g->means.nearest.count(), g->means.recorded.count(), 0.03 * g->means.recorded.count());
  const auto alike = compare_steps(job({noise(0.02, Rank, EveryStep)}), run, kSome);
  ASSERT_TRUE(alike);
  EXPECT_FALSE(alike->means.differ());
}

TEST(Goodness, ConstantStepsReproduce) {
  const model::Scenario s = job({});
  const auto g = compare_steps(s, recorded(s, 1), kSome);
  ASSERT_TRUE(g) << g.error().to_string();
  EXPECT_TRUE(g->reproduces) << g->because;
  EXPECT_LE(g->distance, g->limit) << "steps that differ by rounding are no distance";
}

}  // namespace
}  // namespace cox::forecast
