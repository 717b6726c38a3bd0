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

// Ranks begin together and come apart: the first steps are the longest, and eight replicas of them say so alike.
TEST(SimulationBudget, FewReplicasGoBeyondTheFirstSteps) {
  auto read = model::parse_scenario(R"(
[cluster]
preset = "cloud-100g"
nodes = 16
[job]
steps = 200
compute = "100ms"
[job.collective]
kind = "all-reduce"
algorithm = "bidirectional-ring"
bytes = "100MB"
[[noise]]
law = "gaussian"
cv = 0.2
scope = "node"
pattern = "recurring"
period_steps = 5
)",
                                    "test.toml", ".");
  ASSERT_TRUE(read);
  const auto plays = SimulationBudget(read->scenario, Scaling::Weak).plays(64);
  ASSERT_TRUE(plays);
  EXPECT_LT(plays->steps, 200) << "else nothing is tried here";
  EXPECT_EQ(plays->replicas, 4);
  EXPECT_GE(plays->steps, 8);
  const auto found = play_size(read->scenario, Scaling::Weak, 64, *plays, 1);
  model::Scenario all = resized(read->scenario, 64);
  all.seed = 1001;
  const auto truth = simulate::simulate(all, {.threads = 1});
  ASSERT_TRUE(found && truth);
  EXPECT_NEAR(found->step.count(), truth->total.count() / 200, found->half_width.count());
  EXPECT_NEAR(found->step / (truth->total / 200.0), 1, 0.03);
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
