// SPDX-License-Identifier: Apache-2.0
#include "simulate/training/step/work_done.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "simulate/training/scenarios.hpp"

namespace cox::simulate::training {
namespace {

using namespace simulate::testing;

// Two of ten steps are computed: half of the first is a quarter of the work, 2.5 steps' worth.
TEST(WorkDone, IsCountedByWhatIsComputed) {
  const WorkDone done(10, 2);
  EXPECT_DOUBLE_EQ(done.at(0, 0, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(done.at(1, 1, 0), 5);
  EXPECT_DOUBLE_EQ(done.at(1, 1, 0.5), 7.5);
  EXPECT_DOUBLE_EQ(done.at(2, 2, 0), 9.9) << "not all, before the last is over";
  EXPECT_DOUBLE_EQ(done.at(2, 1, 0), 9.9) << "the second was as the first";
  EXPECT_DOUBLE_EQ(done.at(10, 2, 0), 10);
  // A third one is computed: five sixths of three; and a fifth and more: then each may be.
  EXPECT_DOUBLE_EQ(done.at(2, 2, 0.5), 10 * 2.5 / 3);
  EXPECT_DOUBLE_EQ(done.at(6, 5, 0.5), 6.5);
  const WorkDone each(10, 0);
  EXPECT_DOUBLE_EQ(each.at(0, 0, 0.5), 0.5);
  EXPECT_DOUBLE_EQ(each.at(7, 7, 0), 7);
  EXPECT_DOUBLE_EQ(WorkDone(1, 2).at(1, 1, 0), 1);
}

/// A tree on which messages meet, so that steps are played on links.
model::Scenario on_a_tree(int steps) {
  model::Scenario s = data_parallel(4, 2);
  work_of(s).collective.algorithm = model::Algorithm::HalvingDoubling;
  s.cluster.nic = {.latency = {}, .bandwidth = Bandwidth::gbyte_per_s(1)};
  s.fabric.kind = model::FabricKind::FatTree;
  s.fabric.link = s.cluster.nic;
  s.fabric.hosts_per_leaf = 2;
  s.fabric.oversubscription = 2;
  s.job.steps = steps;
  return s;
}

std::vector<double> told(const model::Scenario& s, bool memo = true) {
  std::vector<double> all;
  const auto out =
      simulate_training(s, {.memo = memo, .progress = [&](double done, double) { all.push_back(done); }});
  EXPECT_TRUE(out) << out.error().to_string();
  return all;
}

TEST(WorkDone, StepsThatRepeatAreWorthTheFirstTwo) {
  const std::vector<double> quiet = told(on_a_tree(10));
  ASSERT_GE(quiet.size(), 10U);
  EXPECT_DOUBLE_EQ(quiet[0], 5);
  EXPECT_DOUBLE_EQ(quiet[8], 9.9);
  EXPECT_DOUBLE_EQ(quiet[9], 10);
  model::Scenario noisy = on_a_tree(10);
  noisy.noise = {jitter(0.1)};
  for (const std::vector<double>& each : {told(noisy), told(on_a_tree(10), false)})
    for (std::size_t k = 0; k < 10; ++k) EXPECT_DOUBLE_EQ(each[k], static_cast<double>(k + 1));
}

// Those that only average differ from local steps.
TEST(WorkDone, LocalStepsHaveTwoKinds) {
  model::Scenario s = on_a_tree(8);
  const auto plan = [&] { return *Plan::make(s); };
  EXPECT_EQ(steps_to_compute(plan(), {}), 2);
  EXPECT_EQ(steps_to_compute(plan(), {.memo = false}), 0);
  s.policy = {.kind = model::PolicyKind::LocalSgd, .local_steps = 4};
  EXPECT_EQ(steps_to_compute(plan(), {}), 4);
  s.noise = {jitter(0.1)};
  EXPECT_EQ(steps_to_compute(plan(), {}), 0);
}

// The step that is taken apart is played once more: a third of the work each.
TEST(WorkDone, AStepThatIsTakenApartIsComputedForItself) {
  std::vector<double> all;
  ASSERT_TRUE(analyse_step(on_a_tree(12), 5, [&](double done, double of) { all.push_back(done / of); }));
  ASSERT_EQ(all.size(), 6U);
  EXPECT_DOUBLE_EQ(all[0], 0);
  EXPECT_DOUBLE_EQ(all[1], 1.0 / 3);
  EXPECT_GE(all[5], 5.0 / 6);
}

}  // namespace
}  // namespace cox::simulate::training
