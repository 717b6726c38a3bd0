// SPDX-License-Identifier: Apache-2.0
// A neighbour that trains, solved by hand and against a training job of ours.
#include "simulate/flow/gradient_steps.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "cox/simulate/outcome.hpp"

#include "support/two_leaves.hpp"

namespace cox::simulate {
namespace {

/// Ours: three layers of 4 MB, a bucket each, 1 ms forward and 4 ms backward.
model::Scenario training(std::vector<int> nodes, int steps) {
  model::Scenario s = test::two_leaves(std::move(nodes), steps);
  model::TrainingJob job;
  job.layout.data = 4;
  job.layers.assign(3, {.forward = Seconds{1e-3},
                        .backward = Seconds{4e-3},
                        .gradients = Bytes{4'000'000},
                        .activations = {}});
  job.bucket = Bytes{4'000'000};
  job.optimizer = Seconds{2e-3};
  s.job.work = job;
  return s;
}

model::Neighbour like_ours(std::vector<int> nodes) {
  model::Neighbour n;
  n.name = "b";
  n.kind = model::NeighbourKind::Training;
  n.nodes = std::move(nodes);
  n.bytes = Bytes{12'000'000};
  n.bucket = Bytes{4'000'000};
  n.compute = Seconds{3e-3};
  n.backward = Seconds{12e-3};
  n.optimizer = Seconds{2e-3};
  return n;
}

Outcome ran(const model::Scenario& s) {
  const auto made = simulate(s, {});
  EXPECT_TRUE(made) << made.error().to_string();
  return made ? *made : Outcome{};
}

double step(const Outcome& o) {
  return o.total.count() / static_cast<double>(o.step_ends.size());
}

// Alone, buckets take 6 rounds of 1 ms each: the first joins at 3 + 4 ms, the second at 13 (not 11), the third at 19,
// so that a step is 25 + 2 ms. Ours is the same.
TEST(GradientSteps, OneAloneIsATrainingJobOfEqualLayers) {
  EXPECT_NEAR(step(ran(training({0, 1, 4, 5}, 4))), 27e-3, 1e-12);
  model::Scenario beside = training({0, 1, 2, 3}, 4);
  beside.neighbours = {like_ours({2, 3, 6, 7})};
  EXPECT_NEAR(ran(beside).neighbours.at(0).alone.count(), 27e-3, 1e-9);
}

// The two in phase share the up-link in every round: 12 ms a bucket, 7 + 3 x 12 + 2 ms a step, each of the two.
TEST(GradientSteps, TwoInPhaseHaveHalfOfTheUpLink) {
  model::Scenario s = training({0, 1, 4, 5}, 4);
  s.neighbours = {like_ours({2, 3, 6, 7})};
  const Outcome both = ran(s);
  EXPECT_NEAR(step(both), 45e-3, 1e-9);
  EXPECT_NEAR(both.neighbours.at(0).mean.count(), 45e-3, 1e-9);
  EXPECT_GE(both.neighbours.at(0).done, 3);
}

// The buckets of a step are 5 + 5 + 2 MB: 7.5 + 7.5 + 3 ms, ready after 5 and 10 of 12 ms of the backward pass.
TEST(GradientSteps, TheLastBucketHasTheRest) {
  model::Scenario s = training({0, 1, 2, 3}, 4);
  s.neighbours = {like_ours({2, 3, 6, 7})};
  s.neighbours[0].bucket = Bytes{5'000'000};
  EXPECT_NEAR(ran(s).neighbours.at(0).alone.count(), (3 + 5 + 7.5 + 7.5 + 3 + 2) * 1e-3, 1e-9);
  s.neighbours[0].bucket = Bytes{100'000'000};
  EXPECT_NEAR(ran(s).neighbours.at(0).alone.count(), (3 + 12 + 18 + 2) * 1e-3, 1e-9);
}

// A slow node keeps all of its job, and not ours.
TEST(GradientSteps, ASlowNodeIsWaitedFor) {
  model::Scenario s = training({0, 1, 2, 3}, 4);
  const double before = step(ran(s));
  s.cluster.classes = {{.name = "slow", .first = 7, .count = 1, .speed = 0.5}};
  s.neighbours = {like_ours({4, 5, 6, 7})};
  s.neighbours[0].bytes = Bytes{4'000'000};
  const Outcome both = ran(s);
  EXPECT_NEAR(step(both), before, 1e-12);
  EXPECT_NEAR(both.neighbours.at(0).mean.count(), 2 * (3 + 12 + 2) * 1e-3 + 0.6e-3, 1e-9);
}

// Beside a job of collectives, and one that starts too late is said to.
TEST(GradientSteps, BesideCollectivesAndTooLate) {
  model::Scenario s = test::two_leaves({0, 1, 4, 5}, 4);
  s.job.work = model::CollectiveJob{.collective = {.kind = model::Collective::AllReduce,
                                                   .algorithm = model::Algorithm::Ring,
                                                   .ranks = 4,
                                                   .bytes = Bytes{40'000'000}}};
  const Outcome alone = ran(s);
  s.neighbours = {like_ours({2, 3, 6, 7})};
  EXPECT_GT(ran(s).total, alone.total);
  s.neighbours[0].start = Seconds{100};
  const Outcome late = ran(s);
  EXPECT_NEAR(late.total.count(), alone.total.count(), 1e-12);
  EXPECT_EQ(late.notes.back(), "b starts after 100 s, when the job is over: it changes nothing");
}

}  // namespace
}  // namespace cox::simulate
