// SPDX-License-Identifier: Apache-2.0
#include "cox/simulate/attribution.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cox/simulate/switches.hpp"

#include "simulate/training/scenarios.hpp"
#include "simulate/training/seed_steps.hpp"

namespace cox::simulate {
namespace {

using testing::data_parallel;
using testing::jitter;
using testing::slow_rank;

Seconds sum_of(const Attribution& a) {
  Seconds sum{};
  for (const MechanismCost& m : a.mechanisms) sum += m.share;
  return sum;
}

TEST(Attribution, OneMechanismIsTheWholeDifference) {
  model::Scenario s = data_parallel(4, 2);
  s.noise = {slow_rank(1, 0.5)};
  const auto a = attribute(s, {});
  ASSERT_TRUE(a);
  ASSERT_EQ(a->mechanisms.size(), 1U);
  EXPECT_TRUE(a->exact);
  EXPECT_EQ(a->simulated, 2);
  EXPECT_GT(a->with, a->without);
  for (const Seconds cost : {a->mechanisms[0].share, a->mechanisms[0].alone, a->mechanisms[0].last})
    EXPECT_DOUBLE_EQ(cost.count(), (a->with - a->without).count());
}

TEST(Attribution, TwoSlowRanksHideEachOther) {
  // Either makes the step as long as both do: each has half of it, and nothing on top of the other.
  model::Scenario s = data_parallel(4, 2);
  s.noise = {slow_rank(1, 0.5), slow_rank(2, 0.5)};
  const auto a = attribute(s, {});
  ASSERT_TRUE(a);
  const double all = (a->with - a->without).count();
  for (const MechanismCost& m : a->mechanisms) {
    EXPECT_NEAR(m.alone.count(), all, 1e-12);
    EXPECT_NEAR(m.last.count(), 0, 1e-12);
    EXPECT_NEAR(m.share.count(), all / 2, 1e-12);
  }
}

// With draws in every step there are more messages than are played, without them steps repeat: both by one engine.
TEST(Attribution, AMechanismDoesNotChooseTheEngine) {
  model::Scenario s = data_parallel(32, 3);
  s.cluster = testing::cluster(96, 1);
  s.cluster.nic = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(1)};
  s.across = {.latency = s.cluster.nic.latency, .per_byte = s.cluster.nic.bandwidth.time_per_byte()};
  testing::work_of(s).layout.pipeline = 3;
  for (model::Layer& l : testing::work_of(s).layers) l.activations = Bytes{4'000'000};
  s.job.steps = 900;
  s.fabric.timeouts = {.wait = Seconds{1e-3}, .loss = 1e-15};
  const auto a = attribute(s, {});
  ASSERT_TRUE(a) << a.error().to_string();
  ASSERT_EQ(a->mechanisms.size(), 1U);
  EXPECT_NEAR(a->mechanisms[0].share / a->with, 0, 1e-9);
}

TEST(Attribution, WhatChangesNothingCostsNothing) {
  model::Scenario s = data_parallel(4, 2);
  s.fabric.background_load = 0.5;  // of switch links: one switch has none
  s.cluster.nic = {.latency = Seconds{1e-6}, .bandwidth = Bandwidth::gbyte_per_s(25)};
  s.noise = {jitter(0.1), slow_rank(2, 0.3)};
  s.replicas = 3;
  const auto a = attribute(s, {});
  ASSERT_TRUE(a);
  ASSERT_EQ(a->mechanisms.size(), 3U);
  EXPECT_EQ(a->mechanisms[2].name, "background load 50 %");
  EXPECT_NEAR(a->mechanisms[2].share.count(), 0, 1e-12);
  EXPECT_NEAR(sum_of(*a).count(), (a->with - a->without).count(), 1e-12);
}

TEST(Attribution, ManyMechanismsAddUpAndSayTheirError) {
  model::Scenario s = data_parallel(8, 2);
  for (int rank = 0; rank < 8; ++rank) s.noise.push_back(slow_rank(rank, 0.1 * (rank + 1)));
  const auto a = attribute(s, {});
  ASSERT_TRUE(a);
  EXPECT_FALSE(a->exact);
  EXPECT_LT(a->simulated, 256);
  EXPECT_NEAR(sum_of(*a).count(), (a->with - a->without).count(), 1e-12);
  // The slowest k + 1 ranks hide the others: the share of rank k is the sum over j <= k of its step / (8 - j).
  const double unit = (a->with - a->without).count() / 8;
  double want = 0;
  for (int rank = 0; rank < 8; ++rank) {
    want += unit / (8 - rank);
    const MechanismCost& m = a->mechanisms[static_cast<std::size_t>(rank)];
    EXPECT_NEAR(m.share.count(), want, 2 * m.half_width.count() + 1e-12) << rank;
    EXPECT_GT(m.half_width.count(), 0);
  }
}

TEST(Attribution, DrawsStayThoseOfTheWholeScenario) {
  // With its neighbour switched off, a source draws what it drew: alone it is what it is in a file of its own place.
  model::Scenario s = data_parallel(4, 2);
  s.noise = {jitter(0.2), jitter(0.1)};
  const auto a = attribute(s, {});
  ASSERT_TRUE(a);
  s.noise[0].off = true;
  const auto second = simulate(s, {});
  ASSERT_TRUE(second);
  EXPECT_EQ(a->mechanisms[1].alone, second->total - a->without);
  s.noise.erase(s.noise.begin());
  EXPECT_NE(simulate(s, {})->total, second->total) << "the number of a source is a part of its draws";
}

TEST(Attribution, EfficiencyIsTheSmallestSizesTimeOverThisOnes) {
  const SizeOutcome small{.nodes = 1, .ranks = 8, .step = {.mean = Seconds{0.5}}};
  const SizeOutcome large{.nodes = 2, .ranks = 16, .step = {.mean = Seconds{1}}};
  EXPECT_EQ(small.efficiency(small), 1);
  EXPECT_EQ(large.efficiency(small), 0.5);
  const SizeOutcome half{.nodes = 2, .ranks = 16, .step = {.mean = Seconds{0.25}}, .fixed_batch = true};
  EXPECT_EQ(half.efficiency(small), 1) << "half of the work each";
  EXPECT_EQ(SizeOutcome{}.efficiency(small), 0) << "no time, no efficiency";
}

TEST(Attribution, NothingToSwitchOffCostsNothing) {
  const auto a = attribute(data_parallel(4, 2), {});
  ASSERT_TRUE(a);
  EXPECT_TRUE(a->mechanisms.empty());
  EXPECT_EQ(a->with, a->without);
}

// One that begins when the job of every seed is over is not on, and not attributed; one that the last seed meets is both.
TEST(Attribution, ANeighbourIsAttributedWhereItIsOn) {
  model::Scenario s = data_parallel(4, 2);
  s.cluster = testing::cluster(8, 1);
  s.cluster.nic = {.latency = Seconds{1e-6}, .bandwidth = Bandwidth::gbyte_per_s(25)};
  s.job.places.nodes = {0, 1, 2, 3};
  s.noise = {jitter(0.3)};
  s.replicas = 5;
  s.neighbours = {{.name = "late", .nodes = {4, 5}, .start = Seconds{100}, .bytes = Bytes{1'000'000}}};
  const auto names = [](const model::Scenario& one) {
    const auto whole = simulate(one, {.keep_steps = true});
    EXPECT_TRUE(whole) << whole.error().to_string();
    const auto a = attribute(one, {}, *whole);
    EXPECT_TRUE(a);
    std::vector<std::string> all;
    for (const MechanismCost& m : a->mechanisms) all.push_back(m.name);
    EXPECT_EQ(all, mechanisms_within(one, whole->last_end()));
    return all.size();
  };
  EXPECT_EQ(names(s), 1U);
  const auto whole = simulate(s, {});
  ASSERT_TRUE(whole);
  ASSERT_GT(whole->last_end(), whole->total) << "another seed than the first takes longest";
  s.neighbours[0].start = whole->total + (whole->last_end() - whole->total) / 2;
  EXPECT_EQ(names(s), 2U);
}

// Two kinds of noise, five seeds: the shares of each seed by hand, from its own four combinations.
TEST(Attribution, TheIntervalOfASharePairsTheDrawsOfASeed) {
  model::Scenario s = data_parallel(4, 2);
  s.noise = {jitter(0.3), slow_rank(1, 0.5)};
  s.replicas = 5;
  const auto a = attribute(s, {});
  ASSERT_TRUE(a);
  EXPECT_EQ(a->seeds, 5);
  std::vector<Seconds> shares[2];
  for (int seed = 0; seed < 5; ++seed) {
    Seconds total[4];
    for (const std::size_t on : {0, 1, 2, 3}) {
      model::Scenario one = s;
      one.seed = s.seed + static_cast<std::uint64_t>(seed);
      one.replicas = 1;
      for (const std::size_t i : {0, 1}) one.noise[i].off = (on >> i & 1) == 0;
      total[on] = simulate(one, {})->total;
    }
    shares[0].push_back((total[1] - total[0] + total[3] - total[2]) / 2);
    shares[1].push_back((total[2] - total[0] + total[3] - total[1]) / 2);
  }
  for (const std::size_t i : {0, 1}) {
    const ReplicaSpread by_hand = spread_of(shares[i]);
    ASSERT_GT(by_hand.half_width_95, Seconds{});
    EXPECT_NEAR(a->mechanisms[i].share.count(), by_hand.mean.count(), 1e-12);
    EXPECT_NEAR(a->mechanisms[i].seeds_half_width.count(), by_hand.half_width_95.count(), 1e-12);
  }
  s.replicas = 1;
  const auto one = attribute(s, {});
  ASSERT_TRUE(one);
  EXPECT_EQ(one->seeds, 1);
  EXPECT_EQ(one->mechanisms[0].seeds_half_width, Seconds{});
}

TEST(Attribution, APolicyWithoutACommonStepIsAttributedToo) {
  model::Scenario s = data_parallel(8, 2);
  s.cluster.nic = {.latency = Seconds{1e-6}, .bandwidth = Bandwidth::gbyte_per_s(25)};
  s.fabric.kind = model::FabricKind::FatTree;
  s.policy.kind = model::PolicyKind::Asynchronous;
  s.noise = {slow_rank(1, 0.5)};
  const auto a = attribute(s, {});
  ASSERT_TRUE(a) << a.error().message;
  EXPECT_EQ(a->with, simulate(s, {})->total);
}

// What the attribution takes for combinations of failures over the same steps is what a simulation of each says, to the last bit.
TEST(Attribution, StepsThatArePlayedOnceAreThoseOfEachCombination) {
  model::Scenario s = testing::data_parallel(8, 3);
  s.job.steps = 50;
  s.replicas = 5;
  s.noise = {
      {.name = "n", .target = model::NoiseTarget::Compute, .law = model::NoiseLaw::Gaussian, .cv = 0.1}};
  model::Scenario failing = s;
  failing.failures = {
      .node_mtbf = Seconds{2}, .restart = Seconds{0.01}, .checkpoint_interval = Seconds{0.05}};
  model::Scenario starting = failing;
  starting.start.fixed = Seconds{0.5};
  const auto steps = play_seeds(failing, {});
  ASSERT_TRUE(steps);
  const auto kept = simulate(failing, {.keep_steps = true});
  ASSERT_TRUE(kept && kept->seed_steps);
  EXPECT_EQ(kept->seed_steps->lengths, steps->lengths);
  EXPECT_EQ(kept->seed_steps->totals, steps->totals);
  for (const model::Scenario& one : {s, failing, starting}) {
    const auto whole = simulate(one, {});
    const auto totals = seed_totals(one, *steps);
    ASSERT_TRUE(whole && totals);
    EXPECT_EQ(*totals, whole->totals);
  }
  EXPECT_LT(spread_of(*seed_totals(s, *steps)).mean, spread_of(*seed_totals(failing, *steps)).mean);
}

// Jitter and a slow rank, with failures: eight combinations, four of which change steps. The job as it is has been simulated.
TEST(Attribution, ProgressCountsSimulationsNotCombinations) {
  model::Scenario s = data_parallel(8, 3);
  s.job.steps = 10;
  s.replicas = 3;
  s.noise = {jitter(0.1), slow_rank(1, 0.5)};
  s.failures = {.node_mtbf = Seconds{2}, .restart = Seconds{0.01}, .checkpoint_interval = Seconds{0.05}};
  EXPECT_EQ(simulations_to_attribute(s), 4);
  const auto whole = simulate(s, {.keep_steps = true});
  ASSERT_TRUE(whole);
  std::vector<double> told;
  const auto a = attribute(s,
                           {.progress =
                                [&](double done, double total) {
                                  EXPECT_EQ(total, 4);
                                  told.push_back(done);
                                }},
                           *whole);
  ASSERT_TRUE(a);
  EXPECT_EQ(a->simulated, 8);
  EXPECT_EQ(told.front(), 1);
  EXPECT_EQ(told.back(), 4);
  EXPECT_TRUE(std::ranges::is_sorted(told));
  EXPECT_GT(std::ranges::count_if(told, [](double d) { return d > 2 && d < 3; }), 20)
      << "steps of three seeds";
  const auto alone = attribute(s, {});
  ASSERT_TRUE(alone);
  for (std::size_t i = 0; i < a->mechanisms.size(); ++i)
    EXPECT_EQ(a->mechanisms[i].share, alone->mechanisms[i].share);
}

}  // namespace
}  // namespace cox::simulate
