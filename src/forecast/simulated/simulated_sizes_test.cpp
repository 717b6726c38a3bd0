// SPDX-License-Identifier: Apache-2.0
#include "forecast/simulated/simulated_sizes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "cox/model/toml.hpp"
#include "cox/simulate/outcome.hpp"

#include "forecast/answer/forecast.hpp"
#include "forecast/scenario/resize.hpp"
#include "forecast/scenario/scenario_parts.hpp"

namespace cox::forecast {
namespace {

model::Scenario scenario(const std::string& text) {
  auto read = model::parse_scenario(text, "test.toml", ".");
  EXPECT_TRUE(read) << (read ? "" : read.error().message);
  return std::move(read->scenario);
}

FullForecast forecast_of(const std::string& text, std::vector<std::int64_t> sizes,
                         Scaling scaling = Scaling::Weak) {
  Evidence evidence;
  evidence.inputs.push_back({.path = "test.toml", .kind = InputKind::Scenario});
  evidence.scenario = scenario(text);
  Asked asked;
  asked.sizes = std::move(sizes);
  asked.scaling = asked.project.scaling = scaling;
  auto made = make_forecast(evidence, asked);
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  return *std::move(made);
}

const std::string kRing = R"(
[cluster]
preset = "dgx-h100"
nodes = 4
[job]
steps = 100
compute = "10ms"
[job.collective]
kind = "all-reduce"
algorithm = "ring"
bytes = "256MiB"
)";

TEST(SimulatedSizes, WithoutNoiseBothWaysAgree) {
  const FullForecast f = forecast_of(kRing, {64, 256});
  ASSERT_EQ(f.simulated.sizes.size(), 2U) << "messages share links";
  for (const CheckedSize& s : f.simulated.sizes) {
    EXPECT_TRUE(s.agrees()) << s.ranks;
    EXPECT_EQ(s.half_width, Seconds{});
  }
  EXPECT_EQ(simulated_lines(f.simulated),
            std::vector<std::string>{"check: simulated, 32, 64, 256 ranks take as long as forecast"});
}

// Noise that is listed and off is none: as many steps of as many seeds, to the same end.
TEST(SimulatedSizes, NoiseThatIsOffIsNone) {
  const FullForecast none = forecast_of(kRing, {64});
  const FullForecast off =
      forecast_of(kRing + "[[noise]]\nlaw = \"gaussian\"\ncv = 0.05\noff = true\n", {64});
  ASSERT_EQ(off.simulated.sizes.size(), none.simulated.sizes.size());
  for (std::size_t i = 0; i < none.simulated.sizes.size(); ++i) {
    EXPECT_EQ(off.simulated.sizes[i].lengths.count(), none.simulated.sizes[i].lengths.count());
    EXPECT_EQ(off.simulated.sizes[i].step, none.simulated.sizes[i].step);
  }
}

// A ring absorbs scattered lateness, which the parts do not know (docs/design/0022-forecast-next.md).
TEST(SimulatedSizes, ValuesFollowWhatIsSimulated) {
  const FullForecast f = forecast_of(kRing + "[[noise]]\nlaw = \"gaussian\"\ncv = 0.05\n", {32, 64, 65536});
  ASSERT_GE(f.simulated.sizes.size(), 2U);
  for (const CheckedSize& s : f.simulated.sizes) {
    EXPECT_FALSE(s.agrees()) << s.ranks;
    EXPECT_TRUE(s.follows()) << s.ranks;
    EXPECT_GT(s.half_width, Seconds{});
    EXPECT_LT(s.step, s.by_parts.low);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const SizePoint& p = f.projection.points[i];
    EXPECT_EQ(p.mean.value, f.simulated.sizes[i].forecast.value);
    EXPECT_NEAR(p.mean.value / f.simulated.sizes[i].step, 1, 0.01);
    EXPECT_LE(p.mean.low, f.simulated.sizes[i].step - f.simulated.sizes[i].half_width);
    EXPECT_GE(p.mean.high, f.simulated.sizes[i].step + f.simulated.sizes[i].half_width);
  }
  // Bends and margins see the same steps.
  ASSERT_TRUE(f.over_parts);
  EXPECT_NEAR(f.seen.mean.value / f.simulated.sizes.front().by_parts.value, f.over_parts(32), 1e-9);
}

CheckedSize size_of(std::int64_t ranks, double simulated, double half_width, double by_parts) {
  const Seconds told{by_parts};
  return {.ranks = ranks,
          .step = Seconds{simulated},
          .half_width = Seconds{half_width},
          .by_parts = {told, told, told},
          .forecast = {told, told, told}};
}

TEST(SimulatedSizes, TheRatioIsLevelUntilSizesTellOtherwise) {
  EXPECT_FALSE(over_parts({}));
  EXPECT_FALSE(over_parts({.sizes = {size_of(8, 1.004, 0, 1), size_of(16, 1.02, 0.03, 1)}})) << "both agree";
  const OverPartsAt level = over_parts({.sizes = {size_of(8, 1.05, 0.02, 1), size_of(16, 2.13, 0.05, 2)}});
  ASSERT_TRUE(level);
  EXPECT_GT(level(8), 1.05);
  EXPECT_LT(level(8), 1.065) << "a mean of both";
  EXPECT_NEAR(level(1 << 20), level(8), 1e-12);
  SizePoint far;
  far.ranks = 1 << 20;
  far.mean = {Seconds{1}, Seconds{1}, Seconds{1}};
  widen(far, {.sizes = {size_of(8, 1.05, 0.02, 1), size_of(16, 2.13, 0.05, 2)}}, level);
  EXPECT_LT(far.mean.high, Seconds{1.2}) << "what noise makes of two sizes does not go on";
  const OverPartsAt curve = over_parts({.sizes = {size_of(8, 1.02, 0, 1), size_of(16, 1.04, 0, 1)}});
  ASSERT_TRUE(curve);
  EXPECT_NEAR(curve(8), 1.02, 1e-12);
  EXPECT_NEAR(curve(16), 1.04, 1e-12);
  EXPECT_NEAR(curve(32), 1.04, 1e-12) << "level beyond what was simulated";
  const OverPartsAt one = over_parts({.sizes = {size_of(8, 0.9, 0, 1)}});
  ASSERT_TRUE(one);
  EXPECT_NEAR(one(64), 0.9, 1e-12);
}

// What the parts lack at the smallest size alone says nothing of the largest.
TEST(SimulatedSizes, ADifferenceThatIsGoneStaysAway) {
  const CheckedSizes sizes{
      .sizes = {size_of(256, 1.019, 0.006, 1), size_of(1024, 1.0014, 0.0007, 1), size_of(4096, 1, 0, 1)}};
  const OverPartsAt over = over_parts(sizes);
  ASSERT_TRUE(over);
  EXPECT_NEAR(over(4096), 1, 1e-12);
  EXPECT_NEAR(over(16384), 1, 1e-12);
  SizePoint far;
  far.ranks = 16384;
  far.mean = {Seconds{1}, Seconds{1}, Seconds{1}};
  widen(far, sizes, over);
  EXPECT_NEAR(far.mean.low.count(), 0.9986, 1e-4) << "to where the last stretch goes on";
  EXPECT_EQ(far.mean.high, Seconds{1});
}

// Parts and simulation differ there, by another ratio at each size: the answer at 8,192 ranks is the same bits alone and beside others.
TEST(SimulatedSizes, AnAnswerIsTheSameWhateverElseIsAsked) {
  auto read = model::read_scenario(COX_EXAMPLES "/why-scaling-fails.toml");
  ASSERT_TRUE(read);
  const std::string text = model::scenario_toml(read->scenario);
  const FullForecast alone = forecast_of(text, {8192});
  const FullForecast beside = forecast_of(text, {512, 2048, 8192});
  ASSERT_TRUE(alone.over_parts);
  ASSERT_EQ(alone.simulated.sizes.size(), beside.simulated.sizes.size());
  EXPECT_GE(alone.simulated.sizes.size(), 2U);
  const SizePoint& a = alone.projection.points[0];
  const SizePoint& b = beside.projection.points[2];
  EXPECT_EQ(a.mean.value, b.mean.value);
  EXPECT_EQ(a.mean.low, b.mean.low);
  EXPECT_EQ(a.mean.high, b.mean.high);
  EXPECT_EQ(a.p99.value, b.p99.value);
}

// The first bend has the name of the source that makes it, and a scenario that has that source off bends there.
TEST(SimulatedSizes, ABendHasTheNameOfItsSource) {
  auto read =
      model::read_scenario(COX_EXAMPLES "/why-scaling-fails.toml", {.set = {"replicas=2", "job.steps=100"}});
  ASSERT_TRUE(read);
  const auto bends_of = [](const model::Scenario& s) {
    return forecast_of(model::scenario_toml(s), {1024, 4096}).regimes->n1;
  };
  const TransitionBand with = bends_of(read->scenario);
  EXPECT_EQ(with.because, "interruptions");
  const auto moved = std::ranges::find(with.without, "interruptions", &MovedBoundary::mechanism);
  ASSERT_NE(moved, with.without.end());
  std::erase_if(read->scenario.noise, [](const auto& n) { return n.name == "interruptions"; });
  const TransitionBand without = bends_of(read->scenario);
  EXPECT_GT(without.value.ranks, 2 * with.value.ranks);
  EXPECT_GT(moved->at.ranks, 2 * with.value.ranks);
}

// Parts that are right within rounding are kept, and their band holds what was simulated.
TEST(SimulatedSizes, BandsHoldWhatAgrees) {
  const CheckedSizes sizes{.sizes = {size_of(8, 1.003, 0.001, 1)}};
  SizePoint near;
  near.ranks = 8;
  near.mean = {Seconds{1}, Seconds{1}, Seconds{1}};
  widen(near, sizes, over_parts(sizes));
  EXPECT_EQ(near.mean.value, Seconds{1});
  EXPECT_NEAR(near.mean.high.count(), 1.004, 1e-12);
  EXPECT_EQ(near.mean.low, Seconds{1});
}

TEST(SimulatedSizes, AHeavierTailIsTheOneSimulated) {
  const auto forecast = [](std::int64_t ranks) {
    SizePoint p;
    p.ranks = ranks;
    p.mean = p.median = p.p95 = p.p99 = p.p999 = {Seconds{1}, Seconds{1}, Seconds{1}};
    return p;
  };
  CheckedSizes sizes{.sizes = {size_of(8, 1, 0, 1), size_of(512, 1, 0, 1)}};
  sizes.sizes[0].lengths.add(1, 400);
  sizes.sizes[1].lengths.add(0.9, 360);
  sizes.sizes[1].lengths.add(2, 40);
  find_spread(sizes, scenario(kRing), forecast);
  EXPECT_FALSE(sizes.sizes[0].spread);
  ASSERT_TRUE(sizes.sizes[1].spread);
  SizePoint far = forecast(4096);
  widen(far, sizes, {});
  EXPECT_NEAR(far.median.value.count(), 0.9, 2e-3);
  EXPECT_NEAR(far.p99.value.count(), 2, 4e-3);
  EXPECT_EQ(far.mean.value, Seconds{1});
  SizePoint near = forecast(8);
  widen(near, sizes, {});
  EXPECT_EQ(near.p99.value, Seconds{1});
  SizePoint middle = forecast(64);  // halfway between 8 and 512 by ln ranks
  widen(middle, sizes, {});
  EXPECT_NEAR(middle.p99.value.count(), std::sqrt(2), 4e-3);
  EXPECT_LE(middle.p99.low.count(), 1);
  EXPECT_GE(middle.p99.high.count(), 1.99);
  far = forecast(4096);
  far.p95.value = Seconds{1.5};
  far.p99.value = Seconds{1.51};
  widen(far, sizes, {});
  EXPECT_LE(far.median.value, far.p95.value);
  EXPECT_LE(far.p95.value, far.p99.value);
  EXPECT_LE(far.p99.value, far.p999.value);
  for (CheckedSize& s : sizes.sizes) s.spread.reset();
  find_spread(sizes, scenario(kRing + "[[noise]]\nlaw = \"gaussian\"\ncv = 0.05\npattern = \"persistent\"\n"),
              forecast);
  EXPECT_FALSE(sizes.sizes[1].spread) << "a replica is one draw";
}

// Sums beside the backward pass absorb lateness: steps vary less than the slowest rank's work does, at sizes that are simulated and between them.
TEST(SimulatedSizes, ALighterTailIsTheOneSimulatedToo) {
  Evidence evidence;
  evidence.scenario = model::read_scenario(COX_EXAMPLES "/why-scaling-fails.toml").value().scenario;
  evidence.inputs.push_back({.path = "why-scaling-fails.toml", .kind = InputKind::Scenario});
  Asked asked;
  asked.sizes = {256, 512, 1'024};
  const auto f = make_forecast(evidence, asked);
  ASSERT_TRUE(f) << f.error().to_string();
  ASSERT_EQ(f->simulated.sizes.size(), 4U);
  for (const std::size_t i : {1U, 2U}) {
    const CheckedSize& s = f->simulated.sizes[i];
    ASSERT_TRUE(s.spread) << s.ranks;
    if (s.ranks == 1'024) EXPECT_LT(s.spread->p99.value, 0.98) << s.ranks;
    const SizePoint& p = f->projection.points[2 * (i - 1)];
    ASSERT_EQ(p.ranks, s.ranks);
    EXPECT_NEAR(p.p99.value.count(), s.lengths.quantile(0.99), 1e-9);
    EXPECT_LE(p.p99.low, p.p99.value);
    EXPECT_GE(p.p99.high, p.p99.value);
  }
  const SizePoint& p = f->projection.points[1];
  model::Scenario s = resized(*evidence.scenario, 512);
  s.failures = {};
  s.start = {};
  s.job.steps = 100;
  s.replicas = 16;
  s.seed += 100;
  const auto outcome = simulate::simulate(s, {});
  ASSERT_TRUE(outcome) << outcome.error().to_string();
  const Seconds truth{outcome->steps.quantile(0.99)};
  EXPECT_LE(p.p99.low, 1.005 * truth);
  EXPECT_GE(p.p99.high, 0.995 * truth);
  EXPECT_NEAR(p.p99.value / truth, 1, 0.02);
}

// Half the bandwidth, and a fifth of it: throughput rises, so neither is a margin into collapse beside "nothing lowers throughput".
TEST(SimulatedSizes, NoMarginIntoCollapseWhereThroughputRises) {
  for (const char* name : {"/time-outs.toml", "/power-by-class.toml", "/shared-input.toml"}) {
    Evidence evidence;
    evidence.scenario = model::read_scenario(std::string(COX_EXAMPLES) + name).value().scenario;
    evidence.inputs.push_back({.path = name, .kind = InputKind::Scenario});
    const std::int64_t own = model::ranks_of(evidence.scenario->cluster, evidence.scenario->job.places);
    Asked asked;
    asked.sizes = {64 * own};
    const auto f = make_forecast(evidence, asked);
    ASSERT_TRUE(f) << f.error().to_string();
    ASSERT_TRUE(f->margins && f->regimes);
    EXPECT_EQ(f->margins->level, 0) << name;
    EXPECT_FALSE(f->margins->crossed) << name;
    for (const Margin& one : f->margins->alone) EXPECT_FALSE(one.factor) << name << ": " << one.name;
    const auto lines = text_lines(*f);
    const bool told = std::ranges::any_of(lines, [](const TextLine& line) {
      return line.text.find("none of ranks, ") != std::string::npos &&
             line.text.find("alone takes them into collapse") != std::string::npos;
    });
    EXPECT_TRUE(told) << name;
  }
}

// What the elasticity says is what steps at two sizes do.
TEST(SimulatedSizes, ElasticityIsThatOfTheStepsThatFollow) {
  const FullForecast f =
      forecast_of(kRing + "[[noise]]\nlaw = \"gaussian\"\ncv = 0.05\n", {8000, 8160, 8320});
  ASSERT_TRUE(f.over_parts);
  // Of the job's curve: sizes that are simulated themselves differ from it by their noise.
  const auto throughput = [&](std::int64_t ranks) { return f.job->at(ranks, kEveryMechanism).throughput; };
  EXPECT_NEAR(f.projection.points[1].elasticity,
              std::log(throughput(8'320) / throughput(8'000)) / std::log(1.04), 2e-3);
}

TEST(SimulatedSizes, OneAloneIsHeldAgainstTwiceAsMany) {
  const FullForecast f = forecast_of(kRing, {1'048'576});
  ASSERT_EQ(f.simulated.sizes.size(), 2U);
  EXPECT_EQ(f.simulated.sizes[0].ranks, 32);
  EXPECT_EQ(f.simulated.sizes[1].ranks, 64);
}

/// Mean step of other draws than the forecast's, of ranks that have this part of their work.
Seconds simulated_step(const std::string& text, std::int64_t ranks, Scaling scaling, int steps = 60) {
  model::Scenario s = resized(scenario(text), ranks, scaling);
  s.job.steps = steps;
  s.seed += 100;
  const auto outcome = simulate::simulate(s, {.threads = 1});
  EXPECT_TRUE(outcome);
  return outcome ? outcome->total / steps : Seconds{1};
}

/// 20 layers of 6 ms hide 25 MB each on 8 ranks, and no longer where 64 share the work.
const std::string kDivided = R"(
[cluster]
nodes = 4
devices_per_node = 2
nic.latency = "2us"
nic.bandwidth = "25GB/s"
scale_up.latency = "1us"
scale_up.bandwidth = "300GB/s"
[job]
workload = "training"
steps = 60
[job.layers]
count = 20
forward = "2ms"
backward = "4ms"
gradients = "25MB"
[[noise]]
law = "gaussian"
cv = 0.05
)";

// What work hides at 8 ranks surfaces where it is divided: a step is no shorter than what is sent.
TEST(StrongScaling, WorkThatIsDividedHidesLess) {
  const FullForecast f = forecast_of(kDivided, {4, 16, 64, 128, 1024}, Scaling::Strong);
  for (const SizePoint& p : f.projection.points) {
    const Seconds truth = simulated_step(kDivided, p.ranks, Scaling::Strong);
    EXPECT_NEAR(p.mean.value / truth, 1, 0.01) << p.ranks;
    EXPECT_LE(p.rest, p.mean.value) << p.ranks;
  }
  ASSERT_GE(f.simulated.sizes.size(), 4U);
  for (const CheckedSize& s : f.simulated.sizes) EXPECT_TRUE(s.follows()) << s.ranks;
}

// An optimizer's step and interruptions are as long on any number of ranks.
TEST(StrongScaling, WhatIsNotDividedStays) {
  std::string text = kDivided;
  text.replace(text.find("law = \"gaussian\"\ncv = 0.05"), 26,
               "law = \"bimodal\"\nmean = \"9ms\"\nprobability = 0.01");
  text.replace(text.find("steps = 60"), 10, "steps = 60\noptimizer = \"20ms\"");
  const auto parts = parts_of(scenario(text), Scaling::Strong);
  ASSERT_TRUE(parts);
  const ProjectOptions strong{.scaling = Scaling::Strong, .rest = rest_of(scenario(text), Scaling::Strong)};
  for (const std::int64_t ranks : {4, 16, 32}) {
    const SizePoint p = project_one(*parts, ranks, strong);
    EXPECT_NEAR(p.mean.value / simulated_step(text, ranks, Scaling::Strong, 600), 1, 0.02) << ranks;
  }
}

TEST(StrongScaling, AFixedBatchIsTheEnginesOwn) {
  std::string text = kDivided;
  text.replace(text.find("steps = 60"), 10, "steps = 60\nglobal_batch = 128");
  const FullForecast f = forecast_of(text, {16, 24, 32, 128, 256}, Scaling::Strong);
  const auto& p = f.projection.points;
  for (const std::size_t i : {0, 2, 3})
    EXPECT_NEAR(p[i].mean.value / simulated_step(text, p[i].ranks, Scaling::Strong), 1, 0.01) << p[i].ranks;
  EXPECT_NE(p[1].refused.find("cannot be shared out"), std::string::npos) << p[1].refused;
  EXPECT_FALSE(p[4].refused.empty()) << "less than a micro-batch each";
}

// Failures make throughput fall; where it is highest by the curve no replica count shares 1,536 samples out.
TEST(StrongScaling, MostThroughputIsAtASizeThatSharesTheBatchOut) {
  std::string text = kDivided;
  text.replace(text.find("steps = 60"), 10, "steps = 60\nglobal_batch = 1536");
  text +=
      "[failures]\nnode_mtbf = \"2h\"\nrestart = \"5min\"\ncheckpoint = \"20s\"\ncheckpoint_interval = \"10min\"\n";
  const FullForecast f = forecast_of(text, {16, 256}, Scaling::Strong);
  ASSERT_TRUE(f.regimes && f.regimes->n_star.value.inside());
  const std::int64_t most = f.regimes->n_star.value.ranks;
  EXPECT_EQ(no_such_size(scenario(text), most), "");
  EXPECT_EQ(most % 2, 0) << "whole nodes";
  for (const std::int64_t other : {8, 16, 24, 32, 48, 64, 96, 128, 192, 256})
    EXPECT_LE(f.job->at(other, kEveryMechanism).throughput, f.job->at(most, kEveryMechanism).throughput)
        << other;
}

// All of 8,192 send each of them a message on links that they share.
TEST(SimulatedSizes, WhatIsTooLargeSaysSo) {
  const auto none = [](std::int64_t) { return TimeBand{}; };
  const model::Scenario dear = scenario(R"(
engine = "flow"
[cluster]
nodes = 8192
nic.latency = "2us"
nic.bandwidth = "25GB/s"
[fabric]
kind = "fat-tree"
hosts_per_leaf = 8
oversubscription = 4
link.latency = "250ns"
link.bandwidth = "25GB/s"
[job]
compute = "5ms"
steps = 3
[job.collective]
kind = "all-to-all"
algorithm = "direct"
bytes = "64MB"
[[noise]]
law = "gaussian"
cv = 0.05
)");
  const CheckedSizes found = simulate_sizes(dear, 8'192, SimulatedRange::Larger, Scaling::Weak, none, 1);
  EXPECT_TRUE(found.sizes.empty());
  EXPECT_EQ(simulated_lines(found), std::vector<std::string>{"check: not made: " + too_large_text()});
}

// Two messages never meet there, so 8,192 ranks take a moment.
TEST(SimulatedSizes, ALargeSizeThatIsCheapIsSimulated) {
  const FullForecast f =
      forecast_of(std::string(kRing).replace(kRing.find("nodes = 4"), 9, "nodes = 128"), {2048});
  ASSERT_EQ(f.simulated.sizes.size(), 1U);
  EXPECT_EQ(f.simulated.sizes[0].ranks, 1'024);
  EXPECT_TRUE(f.simulated.sizes[0].agrees());
}

TEST(SimulatedSizes, SameForAnyNumberOfThreads) {
  const model::Scenario s = scenario(kRing + "[[noise]]\nlaw = \"gaussian\"\ncv = 0.05\n");
  const auto none = [](std::int64_t) { return TimeBand{}; };
  const CheckedSizes one = simulate_sizes(s, 32, SimulatedRange::Larger, Scaling::Weak, none, 1);
  const CheckedSizes four = simulate_sizes(s, 32, SimulatedRange::Larger, Scaling::Weak, none, 4);
  ASSERT_EQ(one.sizes.size(), four.sizes.size());
  for (std::size_t i = 0; i < one.sizes.size(); ++i) {
    EXPECT_EQ(one.sizes[i].step, four.sizes[i].step);
    EXPECT_EQ(one.sizes[i].half_width, four.sizes[i].half_width);
    EXPECT_EQ(one.sizes[i].lengths.count(), four.sizes[i].lengths.count());
    EXPECT_EQ(one.sizes[i].lengths.quantile(0.99), four.sizes[i].lengths.quantile(0.99));
  }
}

// The first step of shared input is half as long again as the fifty that follow: the mean over the job's steps is forecast.
TEST(SimulatedSizes, TheFirstStepIsOneOfTheJobs) {
  auto read = model::read_scenario(COX_EXAMPLES "/shared-input.toml");
  ASSERT_TRUE(read);
  const FullForecast f = forecast_of(model::scenario_toml(read->scenario), {2048});
  ASSERT_FALSE(f.simulated.sizes.empty());
  for (const CheckedSize& s : f.simulated.sizes) EXPECT_TRUE(s.agrees()) << s.step.count();
}

/// Up to 4,096 ranks work hides the sums; at 16,384 they take longer than the layers, and what ranks vary by hides some of that.
const std::string kHiding = R"(
[cluster]
nodes = 512
devices_per_node = 2
nic.latency = "2us"
nic.bandwidth = "25GB/s"
scale_up.latency = "1us"
scale_up.bandwidth = "300GB/s"
[job]
workload = "training"
steps = 20
bucket = "25MB"
[job.layers]
count = 20
forward = "50ms"
backward = "100ms"
gradients = "25MB"
[[noise]]
law = "gaussian"
cv = 0.05
)";

FullForecast forecast_of(std::vector<std::int64_t> sizes) {
  Evidence evidence;
  evidence.inputs.push_back({.path = "test.toml", .kind = InputKind::Scenario});
  evidence.scenario = scenario(kHiding);
  Asked asked;
  asked.sizes = std::move(sizes);
  asked.project.replicates = 20;
  auto made = make_forecast(evidence, asked);
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  return *std::move(made);
}

// Without noise communication that surfaces is a tenth too long: the forecast is what steps with noise take.
TEST(FarSizes, ValueAndBandHoldStepsWithNoise) {
  const FullForecast f = forecast_of({16'384});
  ASSERT_EQ(f.simulated.far.size(), 1u);
  model::Scenario s = resized(scenario(kHiding), 16'384);
  s.job.steps = 3;
  s.seed += 100;  // other draws
  const auto truth = simulate::simulate(s, {.threads = 1});
  ASSERT_TRUE(truth);
  const Seconds step = (truth->step_ends.back() - truth->step_ends.front()) / 2;
  const SizePoint& p = f.projection.points.front();
  EXPECT_GT(f.simulated.far.front().by_parts.value / step, 1.05) << "what is mended here";
  EXPECT_NEAR(p.mean.value / step, 1, 0.005);
  EXPECT_LE(p.mean.low, step);
  EXPECT_GE(p.mean.high, step);
}

TEST(FarSizes, AnAnswerIsTheSameWhateverElseIsAsked) {
  const FullForecast alone = forecast_of({8192});
  const FullForecast beside = forecast_of({8192, 16'384});
  EXPECT_EQ(alone.projection.points.front().mean.value, beside.projection.points.front().mean.value);
  EXPECT_EQ(alone.projection.points.front().mean.low, beside.projection.points.front().mean.low);
}

CheckedSize size_of(std::int64_t ranks, double simulated, double by_parts) {
  const Seconds told{by_parts};
  return {.ranks = ranks,
          .step = Seconds{simulated},
          .by_parts = {told, told, told},
          .forecast = {told, told, told}};
}

TEST(FarSizes, WhatTheyTakeOverTheNearOnesComesSmoothly) {
  EXPECT_FALSE(over_parts_far({}, 4096, {size_of(16'384, 1.001, 1)})) << "it agrees";
  const OverPartsAt over = over_parts_far({}, 4096, {size_of(16'384, 0.9, 1), size_of(65'536, 0.8, 1)});
  ASSERT_TRUE(over);
  EXPECT_EQ(over(1024), 1);
  EXPECT_NEAR(over(4096), 1, 1e-12);
  EXPECT_NEAR(over(16'384), 0.9, 1e-12);
  EXPECT_NEAR(over(8192), std::sqrt(0.9), 1e-9);
  EXPECT_NEAR(over(65'536), 0.8, 1e-12);
  EXPECT_NEAR(over(1'048'576), 0.8, 1e-12);
  EXPECT_NEAR(over_parts_far([](std::int64_t) { return 1.1; }, 4096, {size_of(16'384, 1.1, 1)})(16'384), 1.1,
              1e-12)
      << "as the near ones say";
}

// Communication grows by 3, ranks wait 2 for each other: of a step of 10 no more than 2 may be hidden.
TEST(FarSizes, WhereNoneIsSimulatedTheBandHoldsWhatMayBeHidden) {
  CheckedSizes near;
  near.sizes = {size_of(4096, 1, 1)};
  SizePoint p;
  p.ranks = 65'536;
  p.mean = p.median = p.p95 = p.p99 = p.p999 = p.with_unseen =
      p.with_shared = {Seconds{10}, Seconds{10}, Seconds{10}};
  p.rest = Seconds{4};
  p.efficiency = 0.4;
  const RestAt rest = [](std::int64_t ranks) {
    return TimeEstimate{.value = Seconds{ranks > 4096 ? 4.0 : 1.0}};
  };
  widen_by_hidden(p, near, rest);
  EXPECT_NEAR(p.mean.low.count(), 8, 1e-12);
  EXPECT_EQ(p.mean.high, Seconds{10});
  SizePoint simulated = p;
  simulated.ranks = 4096;
  simulated.mean.low = Seconds{10};
  widen_by_hidden(simulated, near, rest);
  EXPECT_EQ(simulated.mean.low, Seconds{10});
}

}  // namespace
}  // namespace cox::forecast
