// SPDX-License-Identifier: Apache-2.0
#include "study/runs/step_run.hpp"

#include <gtest/gtest.h>

namespace cox::study {
namespace {

constexpr double kRounding = 1e-9;

TEST(SharedStep, OneStreamAtFullSpeedIsTheGraph) {
  for (const double message : {1e-3, 5e-3, 20e-3}) {
    StepPlan graph{.forward = Seconds{0}, .backward = std::vector<Seconds>(12, Seconds{5e-3}), .buckets = {}};
    SharedStepPlan fluid{.backward = graph.backward, .buckets = {}};
    for (int ready = 3; ready <= 12; ready += 3) {
      graph.buckets.push_back({.ready_after = ready, .all_reduce = Seconds{message * ready}});
      fluid.buckets.push_back({.ready_after = ready, .all_reduce = {Seconds{message * ready}}});
    }
    EXPECT_NEAR(run_shared_step(fluid).step.count(), run_step(graph).step.count(), kRounding);
    EXPECT_NEAR(run_shared_step(fluid).exposed.count(), run_step(graph).exposed.count(), kRounding);
  }
}

// Two buckets of 4 ms, both ready after the first of two layers of 10 ms; beside each other each takes 6 ms.
TEST(SharedStep, StreamsShareTheLink) {
  SharedStepPlan plan{.backward = {Seconds{10e-3}, Seconds{1e-3}},
                      .buckets = {{.ready_after = 1, .all_reduce = {Seconds{4e-3}, Seconds{6e-3}}},
                                  {.ready_after = 1, .all_reduce = {Seconds{4e-3}, Seconds{6e-3}}}}};
  plan.streams = 1;
  EXPECT_NEAR(run_shared_step(plan).step.count(), 18e-3, kRounding);
  plan.streams = 2;
  EXPECT_NEAR(run_shared_step(plan).step.count(), 16e-3, kRounding);
  // The second is ready 3 ms later: 1 ms of the first is left, of which each passes a sixth in a millisecond.
  plan.backward = {Seconds{10e-3}, Seconds{3e-3}};
  plan.buckets[1].ready_after = 2;
  EXPECT_NEAR(run_shared_step(plan).step.count(), 13e-3 + 1.5e-3 + 0.75 * 4e-3, kRounding);
}

// A message of 4 ms hides 4 e ms of a layer; behind the last layer nothing is beside it.
TEST(SharedStep, EfficiencySlowsWhatIsBesideAMessage) {
  for (const double e : {1.0, 0.9, 0.7}) {
    const SharedStepPlan plan{.backward = {Seconds{10e-3}, Seconds{10e-3}},
                              .buckets = {{.ready_after = 1, .all_reduce = {Seconds{4e-3}}},
                                          {.ready_after = 2, .all_reduce = {Seconds{4e-3}}}},
                              .overlap_efficiency = e};
    EXPECT_NEAR(run_shared_step(plan).step.count(), 10e-3 + 4e-3 + (10e-3 - e * 4e-3) + 4e-3, kRounding);
  }
}

}  // namespace
}  // namespace cox::study
