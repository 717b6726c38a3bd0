// SPDX-License-Identifier: Apache-2.0
#include "forecast/simulated/asked_sizes.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "cox/model/toml.hpp"
#include "cox/simulate/outcome.hpp"

#include "forecast/answer/forecast.hpp"
#include "forecast/scenario/resize.hpp"
#include "forecast/simulated/budget.hpp"

namespace cox::forecast {
namespace {

model::Scenario scenario(const std::string& text) {
  auto read = model::parse_scenario(text, "test.toml", ".");
  EXPECT_TRUE(read) << (read ? "" : read.error().message);
  return std::move(read->scenario);
}

FullForecast forecast_of(const std::string& text, std::vector<std::int64_t> sizes) {
  Evidence evidence;
  evidence.inputs.push_back({.path = "test.toml", .kind = InputKind::Scenario});
  evidence.scenario = scenario(text);
  Asked asked;
  asked.sizes = std::move(sizes);
  asked.project.replicates = 20;
  auto made = make_forecast(evidence, asked);
  EXPECT_TRUE(made) << (made ? "" : made.error().message);
  return *std::move(made);
}

/// Mean over five runs of other draws than the forecast's.
Seconds simulated_step(const std::string& text, std::int64_t ranks, int steps) {
  Seconds sum{};
  for (std::uint64_t seed = 101; seed < 106; ++seed) {
    model::Scenario s = resized(scenario(text), ranks);
    s.job.steps = steps;
    s.seed = seed;
    const auto outcome = simulate::simulate(s, {.threads = 1});
    EXPECT_TRUE(outcome);
    if (outcome) sum += outcome->total / (5.0 * steps);
  }
  return sum;
}

// Simulated throughput is flat from 256 ranks on (313, 328, 314, 340 a second), so none of these collapses, and none does most.
TEST(AskedSizes, ServersAreSimulatedBeyond256RanksAndNoneCollapses) {
  const std::string servers = R"(
[cluster]
preset = "cloud-100g"
nodes = 32
[job]
compute = "50ms"
steps = 10
[job.collective]
kind = "all-reduce"
algorithm = "parameter-server"
servers = 4
bytes = "100MB"
)";
  const FullForecast made = forecast_of(servers, {256, 384, 512, 1'024});
  for (std::size_t i = 0; i < made.projection.points.size(); ++i) {
    const SizePoint& p = made.projection.points[i];
    ASSERT_EQ(p.refused, "") << p.ranks;
    const auto outcome = simulate::simulate(resized(scenario(servers), p.ranks), {.threads = 1});
    EXPECT_NEAR(p.mean.value / (outcome->total / 10.0), 1, 0.005) << p.ranks;
    EXPECT_EQ(made.regime(i), Regime::PostLinear) << p.ranks;
  }
  ASSERT_TRUE(made.regimes);
  EXPECT_EQ(made.regimes->n_star.value.place, RegimeBoundary::Place::Above);
}

// Where nothing fails, bends are looked for as far as steps are simulated: beyond, slopes only go on.
TEST(AskedSizes, BendsEndWhereNoStepIsSimulated) {
  const std::string shared = R"(
engine = "flow"
[cluster]
nodes = 64
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
)";
  const std::int64_t most = rest_and_range_of(scenario(shared)).simulated_below(4'096).value();
  const FullForecast made = forecast_of(shared, {2 * most});
  ASSERT_TRUE(made.regimes);
  EXPECT_EQ(made.regimes->range.to, most);
}

/// Sums of 40 MB that work hides in part, on 32 ranks: what surfaces bends between sizes.
const std::string kHidesInPart = R"(
[cluster]
nodes = 32
nic.latency = "20us"
nic.bandwidth = "25GB/s"
[job]
workload = "training"
steps = 60
bucket = "40MB"
[job.layers]
count = 41
forward = "1ms"
backward = "2ms"
gradients = "10MB"
[[noise]]
law = "exponential"
mean_ratio = 0.05
)";

// Between 512 and 4,096 ranks, below the least, and no power of two: each is what it takes when it is simulated.
TEST(AskedSizes, EachIsSimulatedItself) {
  const FullForecast f = forecast_of(kHidesInPart, {16, 64, 96, 256});
  ASSERT_EQ(f.simulated.asked.size(), 4U);
  for (const SizePoint& p : f.projection.points) {
    const Seconds truth = simulated_step(kHidesInPart, p.ranks, 60);
    EXPECT_NEAR(p.mean.value / truth, 1, 0.01) << p.ranks;
    EXPECT_LE(p.mean.low, truth) << p.ranks;
    EXPECT_GE(p.mean.high, truth) << p.ranks;
  }
}

TEST(AskedSizes, ASizeIsTheSameWhateverElseIsAsked) {
  const FullForecast alone = forecast_of(kHidesInPart, {96});
  const FullForecast beside = forecast_of(kHidesInPart, {64, 96, 128});
  EXPECT_EQ(alone.projection.points[0].mean.value, beside.projection.points[1].mean.value);
  EXPECT_EQ(alone.projection.points[0].mean.high, beside.projection.points[1].mean.high);
  EXPECT_EQ(beside.simulated.asked.size(), 2U) << "128 is among those that are always simulated";
}

// 300 ranks between 256 and 512: what is exposed there is not told by these, so parts alone have no number.
TEST(AskedSizes, WhatNeighboursDoNotTellIsSimulated) {
  std::string text = kHidesInPart;
  text.replace(text.find("mean_ratio = 0.05"), 17, "mean_ratio = 0.03");
  text.replace(text.find("forward = \"1ms\"\nbackward = \"2ms\""), 32,
               "forward = \"2ms\"\nbackward = \"4ms\"");
  const FullForecast f = forecast_of(text, {300});
  const SizePoint& p = f.projection.points.front();
  ASSERT_EQ(p.refused, "");
  EXPECT_NEAR(p.mean.value / simulated_step(text, 300, 60), 1, 0.01);
}

CheckedSize size_of(std::int64_t ranks, double simulated, double half_width) {
  const Seconds one{1};
  return {.ranks = ranks,
          .step = Seconds{simulated},
          .half_width = Seconds{half_width},
          .by_parts = {one, one, one},
          .forecast = {one, one, one}};
}

TEST(BetweenSizes, WhatANeighbourMissesIsNotKnownBetween) {
  const std::vector<CheckedSize> line = {size_of(32, 1, 0), size_of(128, std::exp(0.02), 0),
                                         size_of(512, std::exp(0.04), 0)};
  EXPECT_NEAR(between_sizes(line, 64), 0, 1e-6) << "neighbours predict it";
  const std::vector<CheckedSize> bent = {size_of(32, 1, 0), size_of(128, 1.05, 0), size_of(512, 1, 0)};
  EXPECT_NEAR(between_sizes(bent, 128), 0, 1e-9) << "simulated";
  EXPECT_GT(between_sizes(bent, 64), 0.05);
  EXPECT_GT(between_sizes(bent, 16), 0.05) << "below the least";
  EXPECT_GT(between_sizes(bent, 8), between_sizes(bent, 16)) << "further off";
  EXPECT_EQ(between_sizes(bent, 2048), 0) << "beyond the last another rule holds";
  const std::vector<CheckedSize> near = {size_of(32, 1, 0), size_of(500, 1.05, 0), size_of(512, 1, 0)};
  EXPECT_NEAR(between_sizes(near, 256), 0, 1e-9) << "what two that are near differ by is noise";
  const std::vector<CheckedSize> noisy = {size_of(32, 1, 0.05), size_of(128, 1.05, 0.1),
                                          size_of(512, 1, 0.05)};
  EXPECT_EQ(between_sizes(noisy, 64), 0) << "as far as noise goes";
  EXPECT_EQ(between_sizes(std::vector{size_of(32, 1.1, 0)}, 64), 0) << "one tells nothing of it";
  EXPECT_GT(between_sizes(std::vector{size_of(32, 1, 0), size_of(64, 1.05, 0)}, 48), 0.05);
}

TEST(AskedSizes, SizesBetweenFollowThem) {
  CheckedSizes sizes;
  sizes.sizes = {size_of(16, 1, 0), size_of(32, 1, 0)};
  sizes.asked = {size_of(128, 0.92, 0), size_of(512, 0.9, 0), size_of(520, 0.9, 0)};
  const OverPartsAt over = over_parts_asked({}, sizes);
  ASSERT_TRUE(over);
  EXPECT_NEAR(over(16), 1, 1e-12);
  EXPECT_NEAR(over(32), 1, 1e-12);
  EXPECT_NEAR(over(128), 0.92, 1e-12);
  EXPECT_NEAR(over(516), 0.9, 1e-6) << "two that are near are one";
  EXPECT_NEAR(over(4'096), 0.9, 1e-6) << "level beyond them";
  EXPECT_LT(over(256), 0.92);
  EXPECT_GT(over(256), 0.9);
  sizes.asked = {size_of(128, 1.004, 0), size_of(512, 0.98, 0.03)};
  EXPECT_FALSE(over_parts_asked({}, sizes)) << "as far as noise and half a per cent go";
  // One that is not simulated has in its band what those beside it missed.
  sizes.asked = {size_of(128, 0.92, 0), size_of(512, 1, 0)};
  SizePoint p;
  p.ranks = 256;
  p.mean = {Seconds{1}, Seconds{1}, Seconds{1}};
  widen(p, sizes, over_parts_asked({}, sizes));
  EXPECT_LT(p.mean.low, Seconds{0.95});
  EXPECT_GT(p.mean.high, Seconds{1.05});
}

/// Sums of 16 layers on links that no two messages share.
const std::string kLayers = R"(
[cluster]
preset = "dgx-h100"
nodes = 2
[job]
workload = "training"
steps = 60
[job.layers]
count = 16
forward = "0.5ms"
backward = "1ms"
gradients = "20MB"
[[noise]]
name = "jitter"
law = "lognormal"
cv = 0.08
)";

// The parts miss 512 ranks by 8 %, and 128 and 256 by as much.
TEST(AskedSizes, EverySizeThatIsCheapIsSimulatedOnLinksToo) {
  const FullForecast f = forecast_of(kLayers, {128, 256, 512, 1'024});
  for (const SizePoint& p : f.projection.points) {
    EXPECT_TRUE(p.simulated) << p.ranks;
    EXPECT_EQ(p.not_simulated, "") << p.ranks;
    const Seconds truth = simulated_step(kLayers, p.ranks, 60);
    EXPECT_LE(p.mean.low, truth) << p.ranks;
    EXPECT_GE(p.mean.high, truth) << p.ranks;
    EXPECT_LT(p.mean.high / p.mean.low, 1.02) << p.ranks;
    EXPECT_LE(p.mean.value, p.p95.value) << p.ranks;
    EXPECT_LE(p.p95.value, p.p99.value) << p.ranks;
    EXPECT_TRUE(p.goes_into) << p.ranks;
  }
  EXPECT_TRUE(f.simulated.not_simulated.empty());
  const FullForecast alone = forecast_of(kLayers, {512});
  EXPECT_EQ(alone.projection.points[0].mean.value, f.projection.points[2].mean.value);
  EXPECT_EQ(alone.projection.points[0].mean.high, f.projection.points[2].mean.high);
  // Bends are of the steps that were simulated: from 256 to 1,024 ranks.
  const auto& at = f.job->at;
  const double rises = std::log(at(1'024, kEveryMechanism).throughput / at(256, kEveryMechanism).throughput);
  EXPECT_NEAR(rises, std::log(4 * f.projection.points[1].mean.value / f.projection.points[3].mean.value),
              0.02);
}

TEST(AskedSizes, WhatIsNotSimulatedSaysSoAndHoldsWhatIsBesideIt) {
  const FullForecast f = forecast_of(kLayers, {300});
  const SizePoint& p = f.projection.points.front();
  EXPECT_FALSE(p.simulated);
  EXPECT_EQ(p.not_simulated, "not whole replicas on whole nodes");
  ASSERT_EQ(f.simulated.asked.size(), 2U);
  EXPECT_EQ(f.simulated.asked[0].ranks, 296);
  EXPECT_EQ(f.simulated.asked[1].ranks, 304);
  EXPECT_LE(p.mean.low, f.simulated.asked[0].step);
  EXPECT_GE(p.mean.high, f.simulated.asked[1].step);
  EXPECT_NEAR(p.mean.value / f.simulated.asked[0].step, 1, 0.03);
  const std::vector<std::string> lines = simulated_lines(f.simulated);
  EXPECT_TRUE(lines.back().starts_with("not simulated: 300 ranks (")) << lines.back();
}

/// Of runs with draws of their own, how many lie in the band.
int runs_inside(const std::string& text, const SizePoint& p, int steps, int runs) {
  int inside = 0;
  for (int seed = 1; seed <= runs; ++seed) {
    model::Scenario s = resized(scenario(text), p.ranks);
    s.seed = 1'000 + static_cast<std::uint64_t>(seed);
    const auto outcome = simulate::simulate(s, {.threads = 1});
    EXPECT_TRUE(outcome);
    if (!outcome) return 0;
    const Seconds step = outcome->total / static_cast<double>(steps);
    inside += step >= p.mean.low && step <= p.mean.high ? 1 : 0;
  }
  return inside;
}

// One rank in a hundred is a fifth slower for good: half of the runs of 64 ranks have one. All that were simulated here had one, or none.
TEST(AskedSizes, BandsHoldRunsWithASlowRankAndWithout) {
  const std::string text = R"(
[cluster]
preset = "cloud-100g"
nodes = 32
[job]
compute = "100ms"
steps = 20
[job.collective]
kind = "all-reduce"
bytes = "5MB"
[[noise]]
law = "bimodal"
mean_ratio = 0.2
probability = 0.01
pattern = "persistent"
)";
  const FullForecast made = forecast_of(text, {64, 128});
  for (const SizePoint& p : made.projection.points) EXPECT_GE(runs_inside(text, p, 20, 20), 18) << p.ranks;
}

// A drift's first steps are shorter than all of the job's.
TEST(AskedSizes, WhatDriftsIsSimulatedToItsEndOrNotAtAll) {
  const std::string text = R"(
[cluster]
preset = "dgx-h100"
nodes = 4
[job]
workload = "training"
steps = 60
bucket = "50MB"
overlap = false
[job.layout]
tensor = 4
[[job.layers]]
count = 2
forward = "10ms"
backward = "20ms"
gradients = "50MB"
activations = "1MB"
[[noise]]
law = "constant"
mean_ratio = 0.5
pattern = "drift"
period_steps = 30
)";
  const FullForecast made = forecast_of(text, {64, 128});
  for (const SizePoint& p : made.projection.points) EXPECT_EQ(runs_inside(text, p, 60, 1), 1) << p.ranks;
  for (const CheckedSize& s : made.simulated.told()) EXPECT_TRUE(s.agrees()) << s.ranks;
}

// Little pays for small sizes, and for none that is dear.
TEST(AskedSizes, TheCheapestFirst) {
  const model::Scenario s = scenario(kLayers);
  const SimulatedAsked found =
      simulate_asked_sizes(s, Scaling::Weak, {4'096, 32, 64}, CheckedSizes{}, 1 << 21, 1);
  ASSERT_GE(found.sizes.size(), 2U);
  EXPECT_EQ(found.sizes[0].ranks, 32);
  EXPECT_EQ(found.sizes[1].ranks, 64);
  ASSERT_EQ(found.left.size(), 1U);
  EXPECT_EQ(found.left[0].ranks, 4'096);
  EXPECT_EQ(found.left[0].why, "its steps are too dear");
}

SizePoint point(std::int64_t ranks, Seconds step, Seconds rest) {
  SizePoint p;
  p.ranks = ranks;
  p.mean = {step, step, step};
  p.rest = rest;
  return p;
}

TEST(AskedSizes, AStepThatGetsShorterIsSaidWithItsReason) {
  Projection projection;
  projection.points = {point(32, Seconds{0.084}, Seconds{0.004}), point(64, Seconds{0.082}, Seconds{0.002}),
                       point(128, Seconds{0.0819}, Seconds{0.002})};
  CheckedSizes simulated;
  simulated.sizes = {size_of(32, 0.084, 0)};
  simulated.asked = {size_of(64, 0.082, 0)};
  EXPECT_EQ(
      shorter_steps(projection, simulated),
      std::vector<std::string>{"64 ranks take less than 32 (82.0 ms for 84.0 ms): communication that nothing "
                               "hides is shorter there by 2.00 ms; both are simulated"});
  projection.points[1].rest = projection.points[0].rest;
  simulated.asked.clear();
  EXPECT_NE(shorter_steps(projection, simulated).at(0).find("ranks wait less"), std::string::npos);
  EXPECT_NE(shorter_steps(projection, simulated).at(0).find("not both are simulated"), std::string::npos);
  projection.scaling = Scaling::Strong;
  EXPECT_TRUE(shorter_steps(projection, simulated).empty());
}

/// A tail of Pareto 2.3, of which the slowest of 16,384 is far out.
const std::string kHeavy = R"(
[cluster]
nodes = 1024
nic.latency = "2us"
nic.bandwidth = "25GB/s"
[job]
steps = 40
compute = "100ms"
[job.collective]
kind = "all-reduce"
algorithm = "recursive-doubling"
bytes = "1MiB"
[[noise]]
law = "pareto"
mean_ratio = 0.05
shape = 2.3
)";

// A hundred steps are cheap beyond 4,096 ranks, and what they leave open is in the band.
TEST(FarSizes, AHundredStepsWhereTheyAreCheap) {
  const model::Scenario s = scenario(kHeavy);
  const auto one = simulate_size(s, Scaling::Weak, 16'384, 1);
  ASSERT_TRUE(one);
  EXPECT_LT(one->half_width / one->step, 0.2);
  const FullForecast f = forecast_of(kHeavy, {16'384});
  ASSERT_EQ(f.simulated.far.size(), 1U);
  const CheckedSize& far = f.simulated.far.front();
  EXPECT_EQ(far.step, one->step);
  const SizePoint& p = f.projection.points.front();
  EXPECT_LE(p.mean.low, far.step - far.half_width);
  EXPECT_GE(p.mean.high, far.step + far.half_width);
}

}  // namespace
}  // namespace cox::forecast
