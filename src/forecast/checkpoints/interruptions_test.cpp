// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <string>

#include "cox/base/stats.hpp"
#include "cox/simulate/training.hpp"

#include "forecast/checkpoints/goodput.hpp"
#include "simulate/training/failures/failures.hpp"

namespace cox::forecast {
namespace {

using Minutes = std::chrono::duration<double, std::ratio<60>>;

/// Failures as often as `between` at 64 nodes.
model::Scenario job(Seconds between, Seconds checkpoint, Seconds restart) {
  model::Scenario s;
  s.cluster.nodes = 64;
  s.failures = {.node_mtbf = between * 64, .restart = restart, .checkpoint = checkpoint};
  return s;
}

/// What the engine that plays failures says, in wall time over work, and its standard error.
std::pair<double, double> played(const model::Scenario& s, Seconds step, int steps, int seeds) {
  const std::vector<Seconds> lengths(static_cast<std::size_t>(steps), step);
  Welford ratio;
  for (int seed = 0; seed < seeds; ++seed) {
    const auto o = simulate::run_with_failures(lengths, s, static_cast<std::uint64_t>(seed));
    EXPECT_TRUE(o);
    ratio.add((o->total - o->start) / (step * steps));
  }
  return {ratio.mean(), ratio.stddev() / std::sqrt(static_cast<double>(seeds))};
}

void expect_whole(const WallShares& w) {
  EXPECT_NEAR(w.work + w.write + w.rework + w.restart + w.waiting, 1, 1e-12);
  EXPECT_GE(w.write, 0);
  EXPECT_GE(w.rework, -1e-12);
  EXPECT_GE(w.restart, 0);
}

TEST(Interruptions, OneLevelIsDalysLaw) {
  const model::Scenario s = job(Minutes{1260}, Minutes{5}, Minutes{10});
  const Interruptions costs = interruptions(s, 64);
  EXPECT_NEAR(costs.between.count(), 75600, 1e-6);
  EXPECT_NEAR(costs.restart.count(), 600, 1e-6);
  const WallShares w = wall_shares(costs, {.far = Minutes{100}});
  EXPECT_NEAR(1 / w.work, 1.103716, 1e-6);
  EXPECT_NEAR(best_intervals(costs).far.count(), 108.9414 * 60, 0.01);
  expect_whole(w);
  // Failures per wall time are 1 / M whatever is done.
  EXPECT_NEAR(w.failures_per_work * w.work, 1 / costs.between.count(), 1e-12);
}

// A restart of 2,000 times the mean time between failures: no number holds how often it falls, and no work is done. It is restarts.
TEST(Interruptions, RestartsThatNeverEndAreRestarts) {
  Interruptions costs = interruptions(job(Minutes{1}, Minutes{5}, Minutes{2'000}), 1);
  costs.between = Minutes{1};
  for (const double minutes : {10.0, 100.0, 2'000.0, 20'000.0}) {
    costs.restart = Minutes{minutes};
    const WallShares w = wall_shares(costs, {.far = Minutes{6}});
    expect_whole(w);
    EXPECT_GT(w.restart, minutes < 50 ? 0.5 : 0.99) << minutes;
  }
}

TEST(Interruptions, WritesBesideTheSteps) {
  model::Scenario s = job(Minutes{1260}, Minutes{0.1}, Minutes{10});
  s.failures.checkpoint_write = Minutes{5};
  EXPECT_NEAR(1 / wall_shares(interruptions(s, 64), {.far = Minutes{15.8}}).work, 1.02483, 1e-5);
  s.failures.checkpoint_write = Minutes{20};
  const Interruptions slow = interruptions(s, 64);
  EXPECT_NEAR(best_intervals(slow).far.count(), 1200, 1e-6);  // never below the write
  EXPECT_NEAR(1 / wall_shares(slow, best_intervals(slow)).work, 1.03747, 1e-5);
  // Nothing beside the steps is a checkpoint that blocks.
  s.failures.checkpoint_write = {};
  EXPECT_NEAR(wall_shares(interruptions(s, 64), {.far = Minutes{15.8}}).work,
              1 / wall_over_work(Minutes{15.8}, Minutes{0.1}, Minutes{10}, Minutes{1260}), 1e-12);
}

TEST(Interruptions, TwoLevels) {
  model::Scenario s = job(Minutes{1260}, Minutes{5}, {});
  s.failures.near_checkpoint = Minutes{0.1};
  s.failures.near_survives = 0.8;
  s.failures.near_interval = Minutes{17.75};
  const Interruptions costs = interruptions(s, 64);
  // To first order each level has its own optimum; 5.11 % of the work against 8.91 %.
  EXPECT_NEAR(young_interval(Minutes{0.1}, Minutes{1260 / 0.8}).count() / 60, 17.7482, 1e-4);
  EXPECT_NEAR(young_interval(Minutes{5}, Minutes{1260 / 0.2}).count() / 60, 250.998, 1e-3);
  const Intervals best = best_intervals(costs);
  EXPECT_NEAR(best.near.count() / 60, 17.7, 1.5);
  EXPECT_NEAR(best.far.count() / 60, 251, 15);
  const double waste = 1 / wall_shares(costs, best).work - 1;
  EXPECT_NEAR(waste, 0.0511, 0.003);
  for (const double f : {0.8, 1.25}) {
    EXPECT_GE(1 / wall_shares(costs, {.far = best.far * f, .near = best.near}).work - 1, waste);
    EXPECT_GE(1 / wall_shares(costs, {.far = best.far, .near = best.near * f}).work - 1, waste);
  }
}

TEST(Interruptions, TheEngineAgreesWithinThreeStandardErrors) {
  model::Scenario s = job(Minutes{126}, Minutes{5}, Minutes{10});
  s.failures.checkpoint_interval = Minutes{30};
  std::vector<std::pair<std::string, model::Scenario>> cases{{"one level", s}};
  model::Scenario two = s;
  two.failures.near_interval = Minutes{10};
  two.failures.near_checkpoint = Minutes{0.5};
  two.failures.near_survives = 0.8;
  cases.emplace_back("two levels", two);
  model::Scenario unreadable = s;
  unreadable.failures.unreadable = 0.1;
  cases.emplace_back("generations", unreadable);
  model::Scenario deltas = s;
  deltas.failures.checkpoint_size = Bytes{600};
  deltas.failures.checkpoint_delta = Bytes{60};
  deltas.failures.storage = Bandwidth::bytes_per_s(1);
  deltas.failures.full_every = 4;
  cases.emplace_back("deltas", deltas);
  model::Scenario drawn = s;
  drawn.failures.restart_spread = Minutes{1};
  drawn.failures.restart_tail = 0.5;
  drawn.failures.restart_per_node = Seconds{2};
  cases.emplace_back("restarts that are drawn", drawn);
  model::Scenario classes = s;
  classes.failures.node_mtbf = {};
  classes.cluster.devices_per_node = 8;
  classes.fabric.hosts_per_leaf = 16;
  classes.failures.classes = {{.name = "device",
                               .per = model::FailureUnit::Device,
                               .mtbf = Minutes{512 * 200},
                               .restart = Minutes{5},
                               .repair = {}},
                              {.name = "switch",
                               .per = model::FailureUnit::Switch,
                               .mtbf = Minutes{4 * 2000},
                               .restart = Minutes{40},
                               .repair = {}},
                              {.name = "job",
                               .per = model::FailureUnit::Job,
                               .mtbf = Minutes{300},
                               .restart = Minutes{10},
                               .repair = {}}};
  cases.emplace_back("classes", classes);
  model::Scenario start = s;
  start.start = {.fixed = Minutes{1}, .per_rank = Seconds{0.1}, .spread = Minutes{1}};
  cases.emplace_back("a start after each", start);
  for (const auto& [name, scenario] : cases) {
    const Interruptions costs = interruptions(scenario, 64);
    const WallShares w = wall_shares(
        costs, {.far = scenario.failures.checkpoint_interval, .near = scenario.failures.near_interval});
    expect_whole(w);
    const auto [ratio, error] = played(scenario, Minutes{0.5}, 6000, 200);
    EXPECT_NEAR(ratio, 1 / w.work, 3 * error) << name;
    EXPECT_LT(error, 0.02) << name;
  }
}

TEST(Interruptions, SpareNodes) {
  model::Scenario s = job(Minutes{600}, Minutes{5}, Minutes{10});
  s.failures.checkpoint_interval = Minutes{80};
  s.failures.repair = Minutes{600};
  double before = 0;
  for (const int spares : {0, 1, 3, 8}) {
    s.failures.spares = spares;
    const double work = wall_shares(interruptions(s, 64), {.far = Minutes{80}}).work;
    EXPECT_GT(work, before) << spares;  // every spare helps
    before = work;
    const auto [ratio, error] = played(s, Minutes{1}, 20'000, 60);
    EXPECT_NEAR(ratio, 1 / work, 3 * error) << spares;
  }
  // With spares enough nobody waits.
  s.failures.repair = {};
  EXPECT_NEAR(before, wall_shares(interruptions(s, 64), {.far = Minutes{80}}).work, 1e-4);
}

TEST(Interruptions, ColdStepsMoveGoodputAndNotTheInterval) {
  model::Scenario s = job(Minutes{1260}, Minutes{5}, Minutes{10});
  const Interruptions warm = interruptions(s, 64, Minutes{1});
  s.failures.cold_steps = 20;
  s.failures.cold_factor = 2;
  const Interruptions cold = interruptions(s, 64, Minutes{1});
  EXPECT_EQ(best_intervals(cold).far, best_intervals(warm).far);
  const double ratio =
      wall_shares(cold, best_intervals(cold)).work / wall_shares(warm, best_intervals(warm)).work;
  EXPECT_NEAR(ratio, std::exp(-20.0 / 1260), 1e-12);
  s.failures.checkpoint_interval = Minutes{100};
  const auto [played_ratio, error] = played(s, Minutes{1}, 5000, 100);
  EXPECT_NEAR(played_ratio, 1 / wall_shares(cold, {.far = Minutes{100}}).work, 3 * error);
}

TEST(Goodput, PeaksWhereCheckpointsTakeFourFifthsOfALife) {
  // C fixed, R = 0: M = 1.2550 C, tau = C, goodput 0.203188.
  model::Scenario s = job(Minutes{1260}, Minutes{1}, {});
  s.failures.node_mtbf = Minutes{100'000};
  const auto most = most_work(s, 1'000'000);
  ASSERT_TRUE(most);
  EXPECT_FALSE(most->censored);
  EXPECT_NEAR(100'000.0 / static_cast<double>(most->nodes), 1.2550, 0.0005);
  EXPECT_NEAR(most->best.far / Minutes{1}, 1, 0.001);
  EXPECT_NEAR(most->goodput, 0.203188, 1e-4);
  const double restarts[] = {1, 2, 5, 10}, over[] = {2.548, 3.776, 7.290, 12.909},
               left[] = {0.239, 0.257, 0.284, 0.302};
  for (int i = 0; i < 4; ++i) {
    s.failures.restart = Minutes{restarts[i]};
    const auto with = most_work(s, 1'000'000);
    EXPECT_NEAR(100'000.0 / static_cast<double>(with->nodes), over[i], 0.002 * over[i]);
    EXPECT_NEAR(with->goodput, left[i], 0.0006);
  }
}

TEST(Goodput, RestartsAndCheckpointsThatGrowMoveTheSizeOfMostWork) {
  // 3.79 failures per 1,000 server-days, C 1 min, R 5 min and more.
  model::Scenario s = job(Minutes{1}, Minutes{1}, Minutes{5});
  s.failures.node_mtbf = Minutes{1000.0 * 24 * 60 / 3.79};
  EXPECT_NEAR(static_cast<double>(most_work(s, 1'000'000)->nodes), 52'000, 300);
  s.failures.restart_per_node = Minutes{0.001};
  EXPECT_NEAR(static_cast<double>(most_work(s, 1'000'000)->nodes), 11'600, 100);
  s.failures.restart_per_node = Minutes{0.004};
  EXPECT_NEAR(static_cast<double>(most_work(s, 1'000'000)->nodes), 6'240, 50);
  s.failures.restart_per_node = {};
  s.failures.checkpoint = {};
  s.failures.checkpoint_size = Bytes{64LL * 60'000};
  s.failures.storage = Bandwidth::bytes_per_s(2'000'000);  // 64 nodes write 1.92 s: N / 2,000 min
  const auto grows = most_work(s, 1'000'000, {}, {}, {.state_grows = true});
  // Restarts read what is written, 5 min + N / 2,000; without reading it would be 12,900.
  EXPECT_LT(grows->nodes, 12'900);
  EXPECT_GT(grows->nodes, 6'000);
  EXPECT_EQ(most_work(s, 500, {}, {}, {.state_grows = true})->nodes, 500);
  EXPECT_TRUE(most_work(s, 500, {}, {}, {.state_grows = true})->censored);
}

TEST(Goodput, AtPublishedRates) {
  model::Scenario s = job(Minutes{1}, Minutes{5}, Minutes{10});
  s.failures.node_mtbf = Minutes{1000.0 * 24 * 60 / 3.79};
  const auto at = goodput(s, {512, 2048, 8192});
  ASSERT_TRUE(at);
  const double five[] = {0.877, 0.744, 0.487}, half[] = {0.951, 0.880, 0.693};
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR((*at)[i].at_best.work, five[i], 0.0006);
  EXPECT_NEAR((*at)[1].costs.between.count() / 3600, 3.1, 0.02);
  s.failures.checkpoint = Minutes{0.5};
  const auto quick = goodput(s, {512, 2048, 8192});
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR((*quick)[i].at_best.work, half[i], 0.0006);
}

TEST(Goodput, WhatIsMissingIsSaid) {
  model::Scenario s;
  s.failures.checkpoint = Minutes{1};
  EXPECT_EQ(goodput(s, {1}).error().id, "forecast-030");
  s.failures.checkpoint = {};
  s.failures.node_mtbf = Minutes{1};
  EXPECT_EQ(most_work(s, 1).error().id, "forecast-030");
}

TEST(Interruptions, OneNodeOfInfantMortality) {
  model::Scenario s = job(Minutes{1260}, Minutes{5}, Minutes{10});
  s.cluster.nodes = 1;
  s.failures.node_mtbf = Minutes{1260};
  s.failures.weibull_shape = 0.7;
  const Interruptions one = interruptions(s, 1);
  EXPECT_NEAR(1 / wall_shares(one, {.far = Minutes{110}}).work, 1.10002, 1e-5);
  expect_whole(wall_shares(one, {.far = Minutes{110}}));
  EXPECT_NEAR(best_intervals(one).far.count() / 60, 114.3, 0.1);
  EXPECT_TRUE(one.notes.empty());
  EXPECT_EQ(interruptions(s, 64).notes.size(), 1u);
}

}  // namespace
}  // namespace cox::forecast
