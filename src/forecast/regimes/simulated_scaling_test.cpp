// SPDX-License-Identifier: Apache-2.0
#include "forecast/regimes/simulated_scaling.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "cox/forecast/regimes.hpp"
#include "cox/model/toml.hpp"

namespace cox::forecast {
namespace {

ScenarioAt example(const std::string& name, const std::vector<std::string>& set = {}) {
  return [name, set](std::int64_t nodes) -> Result<model::Scenario> {
    model::ScenarioOptions changes;
    changes.set = set;
    changes.set.push_back("cluster.nodes=" + std::to_string(nodes));
    COX_TRY(model::ReadScenario read, model::read_scenario(COX_EXAMPLES "/" + name, changes));
    return std::move(read.scenario);
  };
}

std::vector<std::int64_t> doubling(std::int64_t from, std::int64_t to) {
  std::vector<std::int64_t> out;
  for (std::int64_t n = from; n <= to; n *= 2) out.push_back(n);
  return out;
}

const RegimeBoundary& without(const TransitionBand& band, const std::string& part) {
  for (const MovedBoundary& m : band.without)
    if (m.mechanism.find(part) != std::string::npos) return m.at;
  ADD_FAILURE() << part;
  return band.value;
}

SimulatedScaling scaling(const ScenarioAt& at, const SimulatedScalingOptions& options) {
  auto out = simulate_scaling(at, options);
  EXPECT_TRUE(out) << out.error().to_string();
  return out ? *std::move(out) : SimulatedScaling{};
}

constexpr RegimeRange kRange{.from = 8, .to = 8'192, .per_doubling = 4};

/// The shipped example, with fewer replicas and steps.
SimulatedScaling why() {
  return scaling(example("why-scaling-fails.toml", {"replicas=3"}),
                 {.nodes = doubling(8, 8'192), .steps = 60, .replicates = 40});
}

Regime regime_at(const SimulatedScaling& s, std::int64_t ranks) {
  return regime_of(s.job.at(ranks, kEveryMechanism).elasticity);
}

// The example passes through all four regimes, and what is named makes each: without it the transition is gone, or far off.
TEST(SimulatedScaling, TheExampleHasFourRegimesWithTheirCauses) {
  const SimulatedScaling s = why();
  EXPECT_EQ(regime_at(s, 16), Regime::Linear);
  EXPECT_EQ(regime_at(s, 1'024), Regime::Sublinear);
  EXPECT_EQ(regime_at(s, 3'900), Regime::PostLinear);
  EXPECT_EQ(regime_at(s, 6'000), Regime::Collapse);

  const Regimes r = regimes_of(s.job, kRange, true, s.replicates, 2);
  for (const TransitionBand* b : {&r.n1, &r.n2, &r.n_star}) {
    ASSERT_TRUE(b->value.inside());
    EXPECT_LE(b->low.ranks, b->value.ranks);
    EXPECT_GE(b->high.ranks, b->value.ranks);
    EXPECT_LT(b->low.ranks, b->high.ranks);
  }
  EXPECT_NE(r.n1.because.find("interruptions"), std::string::npos) << r.n1.because;
  EXPECT_GT(without(r.n1, "interruptions").ranks, 3 * r.n1.value.ranks);
  EXPECT_NE(r.n2.because.find("restarts that grow with the job"), std::string::npos) << r.n2.because;
  EXPECT_EQ(without(r.n2, "restarts that grow").place, RegimeBoundary::Place::Above);
  EXPECT_NE(r.n_star.because.find("restarts that grow with the job"), std::string::npos) << r.n_star.because;
  EXPECT_EQ(without(r.n_star, "restarts that grow").place, RegimeBoundary::Place::Above);
  EXPECT_GT(r.n_star.cost, 1.5) << "a sample costs more than half as much again as on 8 nodes";

  // Control: ranks that get to know each other ten times as fast move the peak; less jitter does not.
  const SimulatedScaling faster =
      scaling(example("why-scaling-fails.toml", {"replicas=1", "failures.restart_per_pair=2us"}),
              {.nodes = doubling(8, 8'192), .steps = 10});
  const RegimeMap map = map_regimes(faster.job, {.from = 8, .to = 32'768, .per_doubling = 4});
  EXPECT_GT(map.n_star.ranks, 1.5 * static_cast<double>(r.n_star.value.ranks));
  EXPECT_LT(without(r.n_star, "jitter").ranks, 1.05 * static_cast<double>(r.n_star.value.ranks));
}

// A size between those that were simulated, and the derivative there, by simulation itself.
TEST(SimulatedScaling, TheCurveIsThatOfTheEngine) {
  const ScenarioAt at =
      example("why-scaling-fails.toml", {"replicas=4", "failures.node_mtbf=1000000h", "noise.1.mean=1ns"});
  const SimulatedScaling coarse = scaling(at, {.nodes = doubling(16, 1'024), .steps = 100});
  const SimulatedScaling exact = scaling(at, {.nodes = {80, 90, 100}, .steps = 100});
  const double here = coarse.job.at(90, kEveryMechanism).throughput / 90;
  const double there = exact.job.at(90, kEveryMechanism).throughput / 90;
  // Throughput of either is over its own rank that never waits; without jitter both wait for the ring only.
  EXPECT_NEAR(here / there, 1, 0.002);
  EXPECT_TRUE(map_regimes(coarse.job, {.from = 16, .to = 1'024}).peaks.empty());
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(coarse.job.mechanisms[static_cast<std::size_t>(i)].reach, Reach::Flattens);
}

TEST(SimulatedScaling, ThreadsChangeNothing) {
  const ScenarioAt at = example("why-scaling-fails.toml", {"replicas=2"});
  const SimulatedScaling one = scaling(at, {.nodes = {8, 64}, .steps = 20, .threads = 1});
  const SimulatedScaling two = scaling(at, {.nodes = {8, 64}, .steps = 20, .threads = 2});
  EXPECT_EQ(one.job.at(20, kEveryMechanism).throughput, two.job.at(20, kEveryMechanism).throughput);
  EXPECT_EQ(one.sizes[1].half_width, two.sizes[1].half_width);
}

// Staggered garbage collection (marin-community/marin #9205): pauses of 1.45 s about every 265 updates on each of 704 ranks.
// Rare per rank, certain per job: 64 ranks show a tail of 0.31 s, 704 a plateau of 1.35 s; collected together it is 5 ms.
TEST(SimulatedScaling, StaggeredGarbageCollectionIsATailFirstAndThenAPlateau) {
  const auto excess = [](std::vector<std::string> set) {
    const ScenarioAt with = example("garbage-collection.toml", set);
    const SimulatedScaling s = scaling(with, {.nodes = {8, 88, 352}});
    set.emplace_back("noise.0.mean=1ns");
    const SimulatedScaling none =
        scaling(example("garbage-collection.toml", set), {.nodes = {8, 88, 352}, .steps = 2});
    std::vector<double> out;
    for (std::size_t i = 0; i < 3; ++i) out.push_back((s.sizes[i].step - none.sizes[i].step).count());
    return std::pair{out, s};
  };
  const auto [staggered, s] = excess({});
  EXPECT_NEAR(staggered[0], 1.45 * (1 - std::pow(1 - 1.0 / 265, 64)), 0.03);
  EXPECT_NEAR(staggered[1], 1.35, 0.03);
  EXPECT_NEAR(staggered[2], 1.45, 0.01);
  const Regimes r = regimes_of(s.job, {.from = 64, .to = 2'816});
  EXPECT_EQ(r.n_star.value.place, RegimeBoundary::Place::Above) << "it flattens, and no more";
  ASSERT_TRUE(r.n1.value.place != RegimeBoundary::Place::Above);
  EXPECT_NE(r.n1.because.find("garbage collection"), std::string::npos);
  const auto [together, same] = excess({"noise.0.scope=global"});
  EXPECT_NEAR(together[1], 1.45 / 265, 1e-3);
}

// A restore that is read by all (marin #8534): 22 min for 703 ranks, one read of 4 h 34 m. The restart is a maximum over
// ranks with a tail: its spread, not the bandwidth, is what takes the goodput at size.
TEST(SimulatedScaling, ARestoreIsAsSlowAsItsSlowestRank) {
  const std::vector<std::string> set{"failures.node_mtbf=800h",      "failures.restart=2min",
                                     "failures.restart_per_node=0s", "failures.restart_per_pair=0s",
                                     "failures.restart_spread=60s",  "failures.restart_tail=0.4"};
  const SimulatedScaling s =
      scaling(example("why-scaling-fails.toml", set), {.nodes = {64, 512, 4'096}, .steps = 10});
  const Regimes r = regimes_of(s.job, {.from = 64, .to = 16'384});
  ASSERT_TRUE(r.n_star.value.inside());
  EXPECT_EQ(r.n_star.because, "failures, their checkpoints and restarts");
  EXPECT_GT(without(r.n_star, "restarts that grow").ranks, 1.3 * static_cast<double>(r.n_star.value.ranks));
}

TEST(SimulatedScaling, SizesAscend) {
  const ScenarioAt at = example("why-scaling-fails.toml");
  for (const std::vector<std::int64_t>& nodes : {std::vector<std::int64_t>{8}, {8, 8}, {16, 8}, {0, 8}}) {
    const auto s = simulate_scaling(at, {.nodes = nodes});
    ASSERT_FALSE(s);
    EXPECT_EQ(s.error().id, "forecast-021");
  }
}

}  // namespace
}  // namespace cox::forecast
