// SPDX-License-Identifier: Apache-2.0
#include "forecast/simulated/budget.hpp"

#include <gtest/gtest.h>

#include <string>

#include "cox/model/toml.hpp"
#include "cox/simulate/outcome.hpp"

#include "forecast/scenario/resize.hpp"

namespace cox::forecast {
namespace {

model::Scenario scenario(const std::string& more) {
  auto read = model::parse_scenario(R"(
[cluster]
nodes = 4
nic.latency = "2us"
nic.bandwidth = "25GB/s"
[job]
steps = 400
compute = "10ms"
)" + more,
                                    "test.toml", ".");
  EXPECT_TRUE(read) << (read ? "" : read.error().message);
  return std::move(read->scenario);
}

const std::string kSum = R"(
[job.collective]
kind = "all-reduce"
algorithm = "recursive-doubling"
bytes = "1MB"
)";
const std::string kJitter = "[[noise]]\nlaw = \"gaussian\"\ncv = 0.1\n";

TEST(SimulationBudget, PlaysAreNoMoreThanItPaysFor) {
  SimulationBudget noisy(scenario(kSum + kJitter), Scaling::Weak);
  const auto small = noisy.plays(8);
  ASSERT_TRUE(small);
  EXPECT_EQ(small->replicas, 8);
  EXPECT_EQ(small->steps, 400) << "all of the job's";
  int before = small->steps;
  for (const std::int64_t ranks : {1'024, 4'096, 16'384}) {
    const auto plays = noisy.plays(ranks);
    ASSERT_TRUE(plays) << ranks;
    EXPECT_LE(plays->events, kMostEventsOfASize) << ranks;
    EXPECT_LE(plays->steps, before) << ranks;
    before = plays->steps;
  }
  EXPECT_LT(before, 400);
  EXPECT_FALSE(noisy.plays(4'096, 1'000, 1'000)) << "too dear";
  SimulationBudget quiet(scenario(kSum), Scaling::Weak);
  EXPECT_EQ(quiet.plays(8)->replicas, 1) << "draws nothing";
}

TEST(SimulationBudget, ASizeIsPlayedAsOftenWhateverWasAskedBefore) {
  const model::Scenario s = scenario(kSum + kJitter);
  SimulationBudget alone(s, Scaling::Weak), after(s, Scaling::Weak);
  for (const std::int64_t ranks : {64, 512, 8'192}) (void)after.plays(ranks);
  EXPECT_EQ(alone.plays(4'096)->events, after.plays(4'096)->events);
  EXPECT_EQ(alone.plays(4'096)->steps, after.plays(4'096)->steps);
}

TEST(SimulationBudget, WhatDriftsIsPlayedToItsEnd) {
  const std::string drift =
      "[[noise]]\nlaw = \"constant\"\nmean_ratio = 0.2\npattern = \"drift\"\nperiod_steps = 400\n";
  SimulationBudget budget(scenario(kSum + drift), Scaling::Weak);
  const auto plays = budget.plays(4'096);
  EXPECT_TRUE(!plays || plays->steps == 400);
}

TEST(PlaySize, FewerStepsThanTheJobHasSayWhatAllTake) {
  const model::Scenario s = scenario(R"(
[job.collective]
kind = "all-reduce"
algorithm = "ring"
bytes = "10MB"
)" + kJitter);
  const auto few = play_size(s, Scaling::Weak, 16, {.replicas = 8, .steps = 40}, 1);
  ASSERT_TRUE(few);
  EXPECT_GT(few->half_width, Seconds{});
  model::Scenario all = resized(s, 16);
  all.seed += 100;
  const auto truth = simulate::simulate(all, {.threads = 1});
  ASSERT_TRUE(truth);
  EXPECT_NEAR(few->step / (truth->total / 400.0), 1, 0.01);
  const auto threaded = play_size(s, Scaling::Weak, 16, {.replicas = 8, .steps = 40}, 4);
  EXPECT_EQ(threaded->step, few->step);
}

// What lasts is drawn once: runs of other seeds lie about the mean by much more than it is known to.
TEST(PlaySize, WhereNoiseLastsTheIntervalHoldsOneRun) {
  const model::Scenario s =
      scenario(kSum + "[[noise]]\nlaw = \"lognormal\"\ncv = 0.3\npattern = \"persistent\"\n");
  const auto found = play_size(s, Scaling::Weak, 64, {.replicas = 8, .steps = 4}, 1);
  ASSERT_TRUE(found);
  int inside = 0;
  for (std::uint64_t seed = 101; seed < 121; ++seed) {
    model::Scenario one = resized(s, 64);
    one.job.steps = 4;
    one.seed = seed;
    const auto outcome = simulate::simulate(one, {.threads = 1});
    ASSERT_TRUE(outcome);
    const Seconds step = outcome->total / 4.0;
    inside += step >= found->step - found->half_width && step <= found->step + found->half_width ? 1 : 0;
  }
  EXPECT_GE(inside, 15);
}

// Messages meet at servers otherwise in each step, in all replicas alike: what replicas differ by says nothing of later steps.
TEST(PlaySize, LaterStepsOfAQuietJobMayDiffer) {
  const model::Scenario s = scenario(R"(
[job.collective]
kind = "all-reduce"
algorithm = "parameter-server"
servers = 8
bytes = "10MB"
)");
  const auto few = play_size(s, Scaling::Weak, 96, {.replicas = 1, .steps = 8}, 1);
  ASSERT_TRUE(few);
  EXPECT_GT(few->half_width, Seconds{});
  model::Scenario all = resized(s, 96);
  all.job.steps = 100;
  const auto truth = simulate::simulate(all, {.threads = 1});
  ASSERT_TRUE(truth);
  EXPECT_NEAR(few->step.count(), truth->total.count() / 100, few->half_width.count());
}

}  // namespace
}  // namespace cox::forecast
