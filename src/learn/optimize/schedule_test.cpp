// SPDX-License-Identifier: Apache-2.0
#include "cox/learn/schedule.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "cox/learn/learner.hpp"
#include "cox/learn/stability.hpp"

namespace cox::learn {
namespace {

TEST(RateSchedule, IsTheFormula) {
  EXPECT_EQ(rate_factor({}, 1, 4096), 1);
  const OptimizerSpec warm{.warm_up = 4};
  EXPECT_EQ(rate_factor(warm, 1, 8), 0.25);
  EXPECT_EQ(rate_factor(warm, 3, 8), 0.75);
  EXPECT_EQ(rate_factor(warm, 4, 8), 1);
  EXPECT_EQ(rate_factor(warm, 400, 8), 1);
  const OptimizerSpec linear{.scaling = RateScaling::Linear, .base_batch = 16};
  EXPECT_EQ(rate_factor(linear, 1, 64), 4);
  EXPECT_EQ(rate_factor(linear, 1, 4), 0.25) << "a smaller batch has a smaller rate";
  OptimizerSpec root = linear;
  root.scaling = RateScaling::Root;
  EXPECT_EQ(rate_factor(root, 1, 64), 2);
  root.warm_up = 10;
  EXPECT_EQ(rate_factor(root, 5, 64), 1);
}

/// The loss after `steps` synchronous steps of `workers` workers, each with 4 samples; without noise.
double loss_after(int workers, int steps, const OptimizerSpec& optimizer, double* first_step = nullptr) {
  auto problem = make_problem({.dimension = 10, .condition = 10, .curvature = 1});
  Learner learner(**problem, optimizer, {}, {.samples = 4}, workers);
  const std::vector<float> begin(learner.parameters().begin(), learner.parameters().end());
  for (std::int64_t v = 0; v < steps; ++v) {
    for (int w = 0; w < workers; ++w)
      learner.take({.kind = sync::StreamEvent::Kind::Delivered,
                    .update = {.worker = w, .version_read = v, .version_applied = v}});
    learner.take({.kind = sync::StreamEvent::Kind::Advanced, .update = {.version_applied = v + 1}});
    if (v == 0 && first_step != nullptr)
      *first_step = std::abs(static_cast<double>(learner.parameters()[0]) - static_cast<double>(begin[0]));
    for (int w = 0; w < workers; ++w)
      learner.take({.kind = sync::StreamEvent::Kind::Read, .update = {.worker = w, .version_read = v + 1}});
  }
  return (*problem)->score(learner.parameters()).loss;
}

TEST(RateSchedule, TheLearnersBatchIsThatOfItsStep) {
  double one = 0, eight = 0, warm = 0;
  const OptimizerSpec linear{.rate = 0.01, .scaling = RateScaling::Linear, .base_batch = 4};
  OptimizerSpec warmed = linear;
  warmed.warm_up = 8;
  loss_after(1, 1, linear, &one);
  loss_after(8, 1, linear, &eight);
  loss_after(8, 1, warmed, &warm);
  EXPECT_NEAR(eight, 8 * one, 1e-6 * eight);
  EXPECT_NEAR(warm, one, 1e-6 * one);
}

// A rate in proportion to the batch leaves the stable region, whatever it was warmed up for; the root does so later.
TEST(RateSchedule, InProportionItDivergesBeyondTheEdgeAndWarmUpDoesNotHelp) {
  const OptimizerSpec linear{.rate = 0.1, .scaling = RateScaling::Linear, .base_batch = 4};
  const double edge = stable_edge({});  // of rate times curvature, and the curvature is 1
  ASSERT_LT(0.1 * 16, edge);
  ASSERT_GT(0.1 * 32, edge);
  const double start = loss_after(1, 0, linear);
  EXPECT_LT(loss_after(16, 200, linear), 1e-3 * start);
  OptimizerSpec warm = linear;
  warm.warm_up = 100;
  EXPECT_GT(loss_after(32, 200, linear), 1e3 * start);
  EXPECT_LT(loss_after(32, 50, warm), start) << "while it is warmed up it learns";
  EXPECT_GT(loss_after(32, 400, warm), 1e3 * start);
  OptimizerSpec root = linear;
  root.scaling = RateScaling::Root;
  EXPECT_LT(loss_after(32, 200, root), 1e-3 * start);
}

TEST(RateSchedule, LocalStepsAreWarmedUpEach) {
  auto problem = make_problem({.dimension = 1, .condition = 1, .curvature = 1});
  const auto way = read_way("local-sgd,local-steps=4");
  ASSERT_TRUE(way);
  Learner learner(**problem, {.rate = 0.2, .warm_up = 4}, *way, {}, 1);
  const double x = static_cast<double>(learner.parameters()[0]);
  learner.take({.kind = sync::StreamEvent::Kind::Delivered, .update = {.steps = 4}});
  learner.take({.kind = sync::StreamEvent::Kind::Advanced, .update = {.version_applied = 1}});
  const double left = (1 - 0.05) * (1 - 0.1) * (1 - 0.15) * (1 - 0.2);
  const double start = (*problem)->score(std::vector<float>{static_cast<float>(x)}).loss;
  EXPECT_NEAR((*problem)->score(learner.parameters()).loss, left * left * start, 1e-5 * start);
}

}  // namespace
}  // namespace cox::learn
