// SPDX-License-Identifier: Apache-2.0
#include "forecast/checkpoints/days.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "cox/simulate/outcome.hpp"

namespace cox::forecast {
namespace {

using Minutes = std::chrono::duration<double, std::ratio<60>>;
constexpr double kDay = 86'400;

/// 70e9 parameters on 32 nodes of 8 devices of 312 TFLOP/s, at 45 %.
ModelWork seventy_billion() {
  return {.parameters = 70e9,
          .tokens_per_step = 4e6,
          .devices_per_node = 8,
          .peak = FlopRate::flops_per_s(312e12),
          .utilisation = 0.45};
}

model::Scenario failing() {
  model::Scenario s;
  s.cluster.nodes = 32;
  s.cluster.devices_per_node = 8;
  s.failures = {.node_mtbf = Seconds{kDay * 1000 / 3.79},
                .restart = Minutes{5},
                .restart_per_node = Seconds{0.1},
                .checkpoint = Minutes{1}};
  s.start = {.fixed = Minutes{3}};
  s.power = {.busy = Power::watts(8000),
             .transfer = Power::watts(6000),
             .wait = Power::watts(4000),
             .idle = Power::watts(2000),
             .pue = 1.2};
  s.node_price = {.node_hour = 20, .currency = "EUR"};
  return s;
}

Seconds sum(const Days& d) {
  Seconds all{};
  for (const Seconds p : d.parts) all += p;
  return all;
}

TEST(Days, ATrainingByHand) {
  // 6 x 70e9 x 1.4e12 / (256 x 312e12 x 0.45) s = 189.3 days.
  const auto d = days({}, budget_of(seventy_billion()), 1.4e12, 32);
  ASSERT_TRUE(d);
  EXPECT_NEAR(d->total.count() / kDay, 6 * 70e9 * 1.4e12 / (256 * 312e12 * 0.45) / kDay, 1e-6);
  EXPECT_NEAR(d->total.count() / kDay, 189.34, 0.05);
  EXPECT_EQ(d->steps, 350'000);
  EXPECT_EQ(d->share(DaysPart::Compute), 1);
  EXPECT_FALSE(d->energy);
  EXPECT_FALSE(d->cost);
}

TEST(Days, PartsAddUp) {
  ModelWork work = seventy_billion();
  work.exposed = 0.2;
  const model::Scenario s = failing();
  const auto d = days(s, budget_of(work), 1.4e12, 32);
  ASSERT_TRUE(d);
  EXPECT_NEAR(sum(*d) / d->total, 1, 1e-12);
  // Behind the start it is the work over the goodput of that size.
  const auto at = goodput(s, {32});
  const Seconds steps = d->parts[1] + d->parts[2] + d->parts[3];
  EXPECT_NEAR((d->total - Minutes{3}) / (steps / at->front().at_best.work), 1, 1e-9);
  EXPECT_NEAR(d->failures, d->total.count() / kDay * 32 * 3.79e-3, 0.01 * d->failures);
  EXPECT_NEAR(d->node_hours, d->total.count() / 3600 * 32, 1e-6 * d->node_hours);
  EXPECT_NEAR(*d->cost, d->node_hours * 20, 1e-6 * *d->cost);
  EXPECT_EQ(d->currency, "EUR");
  // All time at the power of its state.
  const double busy = 8000 * d->parts[1].count() + 6000 * d->parts[2].count();
  EXPECT_GT(d->energy->in_joules(), 1.2 * 32 * busy);
  EXPECT_LT(d->energy->in_joules(), 1.2 * 32 * 8000 * d->total.count());
}

TEST(Days, EnergyOfBusyAndWaiting) {
  // 8 kW busy for 70 %, 4 kW waiting for 30 % of a second: 6.8 kJ, 1.2143 of the ideal.
  model::Scenario s;
  s.power = {.busy = Power::watts(8000), .transfer = {}, .wait = Power::watts(4000), .idle = {}, .pue = 1};
  const BudgetAt second = [](std::int64_t) -> Result<StepBudget> {
    return StepBudget{.compute = Seconds{0.7}, .communication = {}, .waiting = Seconds{0.3}, .tokens = 1};
  };
  const auto d = days(s, second, 1, 1);
  EXPECT_NEAR(d->energy->in_joules(), 6800, 1e-9);
  EXPECT_NEAR(d->energy->in_joules() / (8000 * 0.7), 1.2143, 1e-4);
}

model::Scenario small_training() {
  model::Scenario s;
  s.cluster.nodes = 4;
  s.cluster.devices_per_node = 2;
  s.cluster.nic = {.latency = Seconds{2e-6}, .bandwidth = Bandwidth::gbyte_per_s(25)};
  s.cluster.scale_up = {.latency = Seconds{1e-6}, .bandwidth = Bandwidth::gbyte_per_s(300)};
  s.inside = {.latency = Seconds{1e-6}, .per_byte = s.cluster.scale_up.bandwidth.time_per_byte()};
  s.across = {.latency = Seconds{2e-6}, .per_byte = s.cluster.nic.bandwidth.time_per_byte()};
  model::TrainingJob job;
  job.layout.data = 8;
  job.layers = {{.forward = Seconds{0.01},
                 .backward = Seconds{0.02},
                 .gradients = Bytes{200'000'000},
                 .activations = {}}};
  job.micro_batches = 2;
  s.job.work = job;
  s.job.steps = 20;
  return s;
}

TEST(Days, OfAScenarioIsWhatItsFailuresPlayedOutTake) {
  model::Scenario s = small_training();
  s.failures = {.node_mtbf = Seconds{400},
                .restart = Seconds{2},
                .checkpoint = Seconds{0.4},
                .checkpoint_interval = Seconds{8}};
  const auto budget = budget_of(s, 1000, BatchRule::Grows);
  const auto d = days(s, budget, 2e7, 4, true);
  ASSERT_TRUE(d) << d.error().to_string();
  EXPECT_EQ(d->steps, 20'000);
  EXPECT_NEAR(d->intervals.far.count(), 8, 0);
  s.job.steps = 20'000;
  s.replicas = 5;
  const auto played = simulate::simulate(s, {.threads = 1});
  ASSERT_TRUE(played);
  EXPECT_NEAR(played->time->total() / d->total, 1, 0.03);
  EXPECT_NEAR(played->time->work / (d->parts[1] + d->parts[2] + d->parts[3]), 1, 1e-6);
}

// Days are at the best interval of each size; what the scenario's own one takes is beside.
TEST(Days, AtTheScenariosOwnIntervalTheyAreBeside) {
  model::Scenario s = failing();
  EXPECT_FALSE(days(s, budget_of(seventy_billion()), 1.4e12, 32)->at_stated);
  s.failures.checkpoint_interval = Seconds{3 * 3600.0};
  const auto best = days(s, budget_of(seventy_billion()), 1.4e12, 2048);
  const auto given = days(s, budget_of(seventy_billion()), 1.4e12, 2048, true);
  ASSERT_TRUE(best && given && best->at_stated);
  EXPECT_FALSE(given->at_stated);
  EXPECT_NEAR(best->at_stated->total / given->total, 1, 1e-9);
  EXPECT_GT(best->at_stated->total, 1.2 * best->total);
  for (std::size_t i = 0; i < kDaysParts; ++i)
    EXPECT_NEAR(best->at_stated->parts[i].count(), given->parts[i].count(), 1e-9 * given->total.count());
  EXPECT_EQ(best->at_stated->intervals.far, s.failures.checkpoint_interval);
  s.failures.checkpoint_interval = Seconds{1e9};
  EXPECT_GT(days(s, budget_of(seventy_billion()), 1.4e12, 2048)->at_stated->total, 10 * best->total);
}

TEST(Days, OtherSizesHaveMoreReplicas) {
  const model::Scenario s = small_training();
  const auto grown = at_nodes(s, 16, BatchRule::Grows);
  ASSERT_TRUE(grown);
  EXPECT_EQ(std::get<model::TrainingJob>(grown->job.work).layout.data, 32);
  EXPECT_EQ(std::get<model::TrainingJob>(grown->job.work).micro_batches, 2);
  const auto shared = at_nodes(s, 8, BatchRule::Stays);
  ASSERT_TRUE(shared);
  EXPECT_EQ(std::get<model::TrainingJob>(shared->job.work).micro_batches, 1);
  EXPECT_EQ(at_nodes(s, 16, BatchRule::Stays).error().id, "forecast-031");
  EXPECT_NEAR(budget_of(s, 1000, BatchRule::Grows)(8)->tokens, 2000, 0);
  EXPECT_NEAR(budget_of(s, 1000, BatchRule::Stays)(8)->tokens, 1000, 0);
}

TEST(Days, HowManyNodesForThirtyDays) {
  const auto budget = budget_of(seventy_billion());
  const Seconds month{30 * kDay};
  const auto enough = nodes_for(failing(), budget, 1.4e12, month, 1, 4096);
  ASSERT_TRUE(enough);
  ASSERT_TRUE(enough->reached);
  EXPECT_LE(enough->at.total, month);
  EXPECT_GT(days(failing(), budget, 1.4e12, enough->at.nodes - 1)->total, month);
  EXPECT_GT(enough->at.nodes, 202);  // without failures: 32 x 189.34 / 30
  const auto tens = nodes_for(failing(), budget, 1.4e12, month, 10, 4096);
  EXPECT_EQ(tens->at.nodes % 10, 0);
  EXPECT_GE(tens->at.nodes, enough->at.nodes);
}

// Sizes below the scenario's own are asked, and no more of them than can be in time.
TEST(Days, FewerNodesThanTheScenarioHasAreAsked) {
  const auto budget = budget_of(seventy_billion());
  model::Scenario large = failing();
  large.cluster.nodes = 512;
  std::int64_t asked = 0, least = 1 << 20;
  const BudgetAt counted = [&](std::int64_t nodes) {
    ++asked;
    least = std::min(least, nodes);
    return budget(nodes);
  };
  const auto enough = nodes_for(large, counted, 1.4e12, Seconds{30 * kDay}, 1, 4096);
  ASSERT_TRUE(enough && enough->reached);
  EXPECT_EQ(enough->at.nodes, nodes_for(failing(), budget, 1.4e12, Seconds{30 * kDay}, 1, 4096)->at.nodes);
  EXPECT_LT(enough->at.nodes, 512);
  EXPECT_LT(asked, 20);
  EXPECT_GT(least, 170) << "202 are needed where nothing fails";
}

TEST(Days, NoNumberOfNodesIsQuickEnough) {
  model::Scenario s = failing();
  s.failures.restart_per_node = Seconds{2};
  const auto never = nodes_for(s, budget_of(seventy_billion()), 1.4e12, Seconds{kDay}, 1, 100'000);
  ASSERT_TRUE(never);
  EXPECT_FALSE(never->reached);
  EXPECT_LT(never->at.nodes, 50'000);
  EXPECT_NE(never->why.find("are the quickest"), std::string::npos);
  // It is the size of most work, as goodput against size finds it.
  const auto most = most_work(s, 100'000);
  EXPECT_NEAR(static_cast<double>(never->at.nodes) / static_cast<double>(most->nodes), 1, 0.1);
}

// The largest size is one of those that are looked at, though no step of 9 % ends there.
TEST(Days, TheLargestSizeIsEnoughWhereItAloneIs) {
  const auto budget = budget_of(seventy_billion());
  for (const std::int64_t most : {4096, 5000, 5213}) {
    const Seconds target = days({}, budget, 1.4e12, most)->total * 1.00001;
    const auto enough = nodes_for({}, budget, 1.4e12, target, 1, most);
    ASSERT_TRUE(enough);
    EXPECT_TRUE(enough->reached) << enough->why;
    EXPECT_EQ(enough->at.nodes, most);
    const auto never = nodes_for({}, budget, 1.4e12, target * 0.99, 1, most);
    ASSERT_TRUE(never);
    EXPECT_EQ(never->at.nodes, most);
    EXPECT_NE(never->why.find("the most that are looked at"), std::string::npos) << never->why;
  }
}

// Work is divided and talk grows: 1e6 / n + n / 1e4 is least at 1e5 nodes, between two sizes that are 9 % apart.
TEST(Days, TheQuickestIsFoundBetweenSizesThatAreLookedAt) {
  const BudgetAt budget = [](std::int64_t n) -> Result<StepBudget> {
    const auto nodes = static_cast<double>(n);
    return StepBudget{
        .compute = Seconds{1e6 / nodes}, .communication = Seconds{nodes / 1e4}, .waiting = {}, .tokens = 1};
  };
  const auto enough = nodes_for({}, budget, 1, Seconds{20 * 1.0001}, 1, 1 << 20);
  ASSERT_TRUE(enough);
  EXPECT_TRUE(enough->reached) << enough->why;
  EXPECT_NEAR(static_cast<double>(enough->at.nodes), 1e5, 3e3);
  const auto never = nodes_for({}, budget, 1, Seconds{19.9}, 1, 1 << 20);
  ASSERT_TRUE(never);
  EXPECT_NEAR(static_cast<double>(never->at.nodes), 1e5, 1e3);
  EXPECT_NE(never->why.find("are the quickest"), std::string::npos);
}

TEST(Days, Sensitivities) {
  const auto all = sensitivities(failing(), budget_of(seventy_billion()), 1.4e12, 32);
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 5u);
  EXPECT_NEAR((*all)[0].at_less, 0.8, 1e-4);
  EXPECT_EQ((*all)[1].at_more, 1);  // none is exposed
  EXPECT_GT((*all)[2].at_less, 1);  // failures that come sooner
  EXPECT_LT((*all)[3].at_less, 1);
  EXPECT_LT((*all)[4].at_less, 1);
}

// A ring's bytes take five quarters of the time where links pass four fifths, so days grow by a quarter of its share.
TEST(Days, OtherBandwidthsAreSimulatedAgain) {
  model::Scenario s = small_training();
  std::get<model::TrainingJob>(s.job.work).overlap = false;
  const BudgetFrom steps_of = [](const model::Scenario& of) { return budget_of(of, 1e6, BatchRule::Grows); };
  const BudgetAt budget = steps_of(s);
  const auto all = sensitivities(s, budget, 1e12, 4, steps_of);
  ASSERT_TRUE(all) << all.error().to_string();
  ASSERT_EQ(all->size(), 3u);
  const StepBudget step = *budget(4);
  const double share = step.communication / step.total();
  EXPECT_GT(share, 0.05);
  EXPECT_EQ((*all)[2].name, "bandwidth between nodes");
  EXPECT_NEAR((*all)[2].at_less, 1 + share / 4, 0.01 * share);
  EXPECT_NEAR((*all)[2].at_more, 1 - share / 6, 0.01 * share);
  model::Scenario priced = s;
  priced.price = model::CollectivePrice::Nccl;
  const BudgetFrom by_rounds = [&](model::Scenario of) {
    of.price = model::CollectivePrice::Rounds;
    return steps_of(of);
  };
  EXPECT_EQ(sensitivities(priced, budget, 1e12, 4, by_rounds)->size(), 2u);
}

// Four stages and four micro-batches: three bubbles of seven parts wait, and shrink with the work.
TEST(Days, BubblesShrinkWithTheWork) {
  model::Scenario s = small_training();
  auto& job = std::get<model::TrainingJob>(s.job.work);
  job.layout = {.data = 2, .pipeline = 4};
  job.micro_batches = 4;
  job.layers.assign(
      4, {.forward = Seconds{0.1}, .backward = Seconds{0.2}, .gradients = Bytes{8}, .activations = Bytes{8}});
  const BudgetFrom steps_of = [](const model::Scenario& of) { return budget_of(of, 1e6, BatchRule::Grows); };
  const StepBudget step = steps_of(s)(4).value();
  ASSERT_GT(step.waiting / step.total(), 0.2) << "bubbles";
  const auto all = sensitivities(s, steps_of(s), 1e12, 4, steps_of);
  ASSERT_TRUE(all) << all.error().to_string();
  EXPECT_NEAR(all->front().at_less, 0.8, 1e-3);
  EXPECT_NEAR(all->front().at_more, 1.2, 1e-3);
}

TEST(Days, WhatIsImpossibleIsSaid) {
  EXPECT_EQ(days({}, budget_of(seventy_billion()), 0, 32).error().id, "forecast-032");
  model::Scenario s = failing();
  s.failures.restart = Seconds{kDay * 1e6};
  EXPECT_EQ(days(s, budget_of(seventy_billion()), 1e12, 32).error().id, "forecast-032");
  s = failing();
  s.failures.checkpoint = {};
  EXPECT_EQ(days(s, budget_of(seventy_billion()), 1e12, 32).error().id, "forecast-032");
}

}  // namespace
}  // namespace cox::forecast
