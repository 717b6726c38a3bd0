// SPDX-License-Identifier: Apache-2.0
// Distribution of steps, accounts, energy: that they add up, and one case by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "cox/simulate/training.hpp"

#include "simulate/training/scenarios.hpp"

namespace cox::simulate {
namespace {

using namespace testing;

TEST(Tally, GroupsAddUpToTheStep) {
  for (model::Scenario s : assorted()) {
    for (const bool shared : {false, true}) {
      if (shared) {
        s.engine = model::EngineKind::Flow;
        s.cluster.scale_up = {.latency = Seconds{1e-6}, .bandwidth = Bandwidth::gbyte_per_s(300)};
        s.cluster.nic = {.latency = Seconds{5e-6}, .bandwidth = Bandwidth::gbyte_per_s(25)};
      }
      s.replicas = 3;
      s.job.steps = 6;
      const auto out = simulate_training(s, {});
      ASSERT_TRUE(out) << s.name << ": " << out.error().to_string();
      ASSERT_EQ(out->groups.size(), static_cast<std::size_t>(work_of(s).layout.pipeline));
      std::int64_t ranks = 0;
      const double step = out->over_replicas.mean.count() / s.job.steps;
      for (const GroupTime& g : out->groups) {
        ranks += g.ranks;
        EXPECT_NEAR((g.busy + g.exposed + g.waiting).count(), step, 1e-9 * step) << s.name << " " << g.name;
        EXPECT_GE(std::min({g.busy, g.exposed, g.waiting}).count(), -1e-12) << s.name;
      }
      EXPECT_EQ(ranks, out->ranks);
      EXPECT_EQ(out->steps.count(), 18);
    }
  }
}

// Classes of nodes are groups of their own: half as fast ones compute twice as long, and the others wait for them.
TEST(Tally, ClassesOfNodesAreGroups) {
  model::Scenario s = data_parallel(4, 1);
  s.across = {};
  work_of(s).layers[0].gradients = Bytes{1};
  s.cluster.classes = {{.name = "old", .first = 3, .count = 1, .speed = 0.5}};
  const auto out = simulate_training(s, {});
  ASSERT_TRUE(out) << out.error().to_string();
  ASSERT_EQ(out->groups.size(), 2U);
  EXPECT_EQ(out->groups[0].name, "stage 0, other nodes");
  EXPECT_EQ(out->groups[0].ranks, 3);
  EXPECT_EQ(out->groups[1].name, "stage 0, old");
  EXPECT_NEAR(out->groups[1].busy / out->groups[0].busy, 2, 1e-9);
  for (const GroupTime& g : out->groups)
    EXPECT_NEAR((g.busy + g.exposed + g.waiting).count(), out->total.count(), 1e-12) << g.name;
}

// A step's account is that of analyse_step.
TEST(Tally, IsTheAccountOfEveryStep) {
  for (const model::Scenario& s : assorted()) {
    const auto out = simulate_training(s, {});
    ASSERT_TRUE(out);
    Seconds busy{}, all{};
    for (int k = 0; k < s.job.steps; ++k) {
      const auto step = analyse_step(s, k);
      ASSERT_TRUE(step);
      for (const StepPart p : {StepPart::Forward, StepPart::Backward, StepPart::Optimizer})
        busy += step->parts[static_cast<std::size_t>(p)];
    }
    for (const GroupTime& g : out->groups) all += g.busy * static_cast<double>(g.ranks * s.job.steps);
    EXPECT_NEAR(all.count(), busy.count(), 1e-9 * busy.count()) << s.name;
  }
}

TEST(Tally, IsTheSameForAnyNumberOfThreadsAndWithoutShortcuts) {
  model::Scenario s = assorted()[0];
  s.replicas = 150;
  const auto one = simulate_training(s, {.threads = 1});
  const auto four = simulate_training(s, {.threads = 4});
  const auto whole = simulate_training(s, {.threads = 4, .memo = false, .closure = false});
  ASSERT_TRUE(one && four && whole);
  for (std::size_t g = 0; g < one->groups.size(); ++g) {
    EXPECT_EQ(one->groups[g].busy, four->groups[g].busy);
    EXPECT_EQ(one->groups[g].waiting, four->groups[g].waiting);
    EXPECT_NEAR(one->groups[g].waiting.count(), whole->groups[g].waiting.count(), 1e-9);
  }
  for (int k = 0; k <= 100; ++k) EXPECT_EQ(one->steps.quantile(k / 100.0), four->steps.quantile(k / 100.0));
  EXPECT_EQ(one->steps.count(), 450);
}

// Where each seed places ranks otherwise, groups differ in number and size from seed to seed.
TEST(Tally, GroupsOfSeedsThatArePlacedOtherwise) {
  model::Scenario s = data_parallel(4, 2);
  s.cluster.devices_per_node = 2;
  s.cluster.nodes = 4;
  work_of(s).layout = {.data = 4, .tensor = 1, .pipeline = 2, .expert = 1, .context = 1};
  work_of(s).layers.resize(2, work_of(s).layers[0]);
  s.cluster.nic = {.latency = Seconds{1e-6}, .bandwidth = Bandwidth::bytes_per_s(1e10)};
  s.cluster.scale_up = s.cluster.nic;
  s.cluster.classes = {{.name = "slow", .first = 0, .count = 1, .speed = 0.5}};
  s.job.places.rule = model::PlaceRule::Random;
  s.replicas = 12;
  const auto out = simulate_training(s, {});
  ASSERT_TRUE(out) << out.error().to_string();
  ASSERT_FALSE(out->groups.empty());
  std::int64_t ranks = 0;
  Seconds all{};
  for (const GroupTime& g : out->groups) {
    ranks += g.ranks;
    all += (g.busy + g.exposed + g.waiting) * static_cast<double>(g.ranks);
    EXPECT_NEAR((g.busy + g.exposed + g.waiting) * s.job.steps / out->over_replicas.mean, 1, 0.2) << g.name;
  }
  EXPECT_NEAR(static_cast<double>(ranks), 8, 0.5 * static_cast<double>(out->groups.size()));  // rounded means
  SimulateOptions two;
  two.threads = 2;
  const auto again = simulate_training(s, two);
  ASSERT_TRUE(again && again->groups.size() == out->groups.size());
  for (std::size_t g = 0; g < out->groups.size(); ++g) EXPECT_EQ(out->groups[g].busy, again->groups[g].busy);
}

// Two workers of 7 s, one of them slower: 10 s. 8 kW busy and 4 kW waiting: 70 % and 30 % of a node are 6.8 kW, 1.2143
// times the 5.6 kW of computation alone.
TEST(Energy, ByHand) {
  model::Scenario s = data_parallel(2, 1);
  s.across = {};
  work_of(s).layers[0] = {.forward = Seconds{7}, .backward = {}, .gradients = Bytes{1}, .activations = {}};
  work_of(s).optimizer = {};
  s.noise = {slow_rank(1, 3.0 / 7)};
  s.power = {.busy = Power::watts(8000),
             .transfer = Power::watts(5000),
             .wait = Power::watts(4000),
             .idle = Power::watts(2000)};
  auto out = simulate_training(s, {});
  ASSERT_TRUE(out && out->energy);
  EXPECT_NEAR(out->energy->busy.in_joules(), 17 * 8000, 1e-6);
  EXPECT_NEAR(out->energy->wait.in_joules(), 3 * 4000, 1e-6);
  const double ideal_node = out->energy->ideal.in_joules() * 7 / 17 / 10;  // its own 7 s, spread over 10
  EXPECT_NEAR(ideal_node + out->energy->wait.in_joules() / 10, 6800, 1e-6);
  EXPECT_NEAR((out->energy->total() / out->energy->ideal), (17.0 * 8 + 3 * 4) / (17 * 8), 1e-12);
  // A start of 100 s, a spare, and a building that draws 1.5 times as much.
  s.power.pue = 1.5;
  s.start.fixed = Seconds{100};
  s.failures.spares = 1;
  out = simulate_training(s, {});
  ASSERT_TRUE(out && out->energy && out->time && out->node_hours);
  EXPECT_NEAR(out->energy->idle.in_joules(), 2000.0 * (2 * 100 + 110), 1e-6);
  const double machines = 17 * 8000 + 3 * 4000 + 2000.0 * 310;
  EXPECT_NEAR(out->energy->building.in_joules(), machines / 2, 1e-6);
  EXPECT_NEAR(out->energy->total().in_joules(), 1.5 * machines, 1e-6);
  EXPECT_NEAR(*out->node_hours, 3 * 110 / 3600.0, 1e-12);
  EXPECT_NEAR(out->time->total().count(), out->over_replicas.mean.count(), 1e-9);
  EXPECT_EQ(out->time->start, Seconds{100});
}

TEST(Energy, AddsUpUnderFailures) {
  model::Scenario s = data_parallel(4, 2);
  s.job.steps = 400;
  s.replicas = 7;
  s.noise = {jitter(0.1)};
  s.power = {.busy = Power::watts(8000),
             .transfer = Power::watts(5000),
             .wait = Power::watts(4000),
             .idle = Power::watts(2000),
             .pue = 1.1};
  s.failures = {.node_mtbf = Seconds{1},
                .restart = Seconds{0.1},
                .cold_steps = 3,
                .cold_factor = 2,
                .checkpoint = Seconds{0.01},
                .checkpoint_interval = Seconds{0.1},
                .repair = Seconds{0.2},
                .spares = 1};
  const auto out = simulate_training(s, {});
  ASSERT_TRUE(out && out->energy && out->time);
  const JobTime& t = *out->time;
  const double total = out->over_replicas.mean.count();
  EXPECT_NEAR(t.total().count(), total, 1e-9 * total);
  for (const Seconds part : {t.work, t.checkpoints, t.rework, t.restarts, t.repair, t.cold})
    EXPECT_GT(part.count(), 0);
  // Every node is in one state at a time: with one power for all states that is what remains.
  model::Scenario even = s;
  even.power = {.busy = Power::watts(1000),
                .transfer = Power::watts(1000),
                .wait = Power::watts(1000),
                .idle = Power::watts(1000)};
  const auto same = simulate_training(even, {});
  ASSERT_TRUE(same && same->energy);
  EXPECT_NEAR(same->energy->total().in_joules(), 1000 * total * 5, 1e-9 * 5000 * total);
  EXPECT_NEAR(*out->node_hours, total * 5 / 3600, 1e-9);
}

}  // namespace
}  // namespace cox::simulate
