// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "evaluate/learning/answer_for_tests.hpp"

namespace cox::evaluate {
namespace {

double model_time(const std::string& model, const std::string& place) {
  return value_of("consistency-models", "time-" + model + "-" + place);
}

TEST(ConsistencyModels, TheSourcesTimesAreItsMultipliers) {
  EXPECT_DOUBLE_EQ(value_of("consistency-models", "printed-synchronous"), 150);
  EXPECT_DOUBLE_EQ(value_of("consistency-models", "printed-bounded"), 225);
  EXPECT_DOUBLE_EQ(value_of("consistency-models", "printed-local"), 75);
}

TEST(ConsistencyModels, RankingChangesAsTheorySays) {
  // Messages dear: local steps. One slow worker: nobody waits. A bound waits for it all the same: N / T_slow.
  EXPECT_LT(model_time("local", "100ms-cv0.1-slow1"), model_time("asynchronous", "100ms-cv0.1-slow1"));
  EXPECT_LT(model_time("asynchronous", "5ms-cv0.1-slow5"),
            0.5 * model_time("synchronous", "5ms-cv0.1-slow5"));
  EXPECT_GT(model_time("bounded", "5ms-cv0.1-slow5"), 2 * model_time("asynchronous", "5ms-cv0.1-slow5"));
  // Workers alike never meet the bound.
  EXPECT_EQ(model_time("bounded", "100ms-cv0.1-slow1"), model_time("asynchronous", "100ms-cv0.1-slow1"));
}

TEST(ConsistencyModels, AMessageChangesTimeAndNothingElse) {
  // Synchronous versions do not depend on the message: the difference is 95 ms for each.
  const double more =
      model_time("synchronous", "100ms-cv0.1-slow1") - model_time("synchronous", "5ms-cv0.1-slow1");
  const double versions = more / 0.095;
  EXPECT_NEAR(10 * versions, std::round(10 * versions), 1e-6);  // a mean over ten seeds
}

TEST(AgeWeights, ARateForTheOldestIsDear) {
  // By a script of its own with other grids: chapter-part3, C.13.
  EXPECT_NEAR(value_of("age-weights", "rate-for-the-oldest"), 1.0 / 21, 1e-12);
  EXPECT_NEAR(value_of("age-weights", "printed-better"), 14, 1e-9);
  for (const char* rule : {"naive", "inverse", "exponential", "discard"})
    EXPECT_GT(value_of("age-weights", "updates-for-the-oldest-geometric"),
              5 * value_of("age-weights", std::string("updates-") + rule + "-geometric"))
        << rule;
}

TEST(AgeWeights, WhereAllAreAsOldAWeightIsARate) {
  // learning.md, check 11: the edge of 1 / (1 + tau) at 20 is 1.6087 of the base.
  EXPECT_NEAR(value_of("age-weights", "edge-of-constant-ages-inverse"), 1.6087, 1e-4);
  const double naive = value_of("age-weights", "updates-naive-constant");
  EXPECT_NEAR(value_of("age-weights", "updates-inverse-constant"), naive, 0.05 * naive);
  EXPECT_FALSE(values_of("age-weights").contains("updates-discard-constant"));  // none would pass
}

TEST(LocalSteps, TimesOfThePrintedIterations) {
  const std::pair<const char*, double> times[] = {{"k1", 150},   {"k2", 108},    {"k4", 90},
                                                  {"k8", 93.75}, {"k16", 112.5}, {"k32", 185.9375}};
  for (const auto& [k, seconds] : times)
    EXPECT_NEAR(value_of("local-steps", std::string("time-of-printed-") + k), seconds, 1e-9) << k;
  EXPECT_EQ(value_of("local-steps", "best-k-of-printed"), 4);
}

TEST(LocalSteps, WhatWorkersDifferInDecides) {
  // By a script of its own: chapter-part3, C.7. Alike: 90 to 96 steps for every K; unlike curvatures rising from 90 (there with
  // fewer rates, to 256); unlike optima as well: rising from 46 to 6368, K = 1 the best.
  for (const char* k : {"k1", "k2", "k4", "k8", "k16", "k32"})
    EXPECT_NEAR(value_of("local-steps", std::string("steps-alike-") + k), 93, 6) << k;
  EXPECT_NEAR(value_of("local-steps", "steps-curvatures-k1"), 90, 10);
  EXPECT_GT(value_of("local-steps", "steps-curvatures-k8"),
            1.25 * value_of("local-steps", "steps-curvatures-k1"));
  EXPECT_EQ(value_of("local-steps", "best-k-optima"), 1);
  EXPECT_EQ(value_of("local-steps", "pays-from-alike"), 0);
}

TEST(BatchScaling, TheCriticalBatchIsOneMoreThanTheDimension) {
  // learning.md, check 52: factors at batch 4, 16, 64 in 20 dimensions, with the best rate.
  const std::pair<const char*, double> kept[] = {{"b4", 0.84}, {"b16", 0.567568}, {"b64", 0.247059}};
  for (const auto& [b, factor] : kept)
    EXPECT_NEAR(value_of("batch-scaling", std::string("loss-kept-best-") + b), factor, 0.02) << b;
  EXPECT_NEAR(value_of("batch-scaling", "critical-batch-b16"), 21, 1.5);
}

TEST(BatchScaling, TheSourcesLawGivesOtherAccuracies) {
  EXPECT_NEAR(value_of("batch-scaling", "accuracy-by-its-law-b8192"), 0.745, 1e-12);
  EXPECT_NEAR(value_of("batch-scaling", "accuracy-by-its-law-b32768"), 0.625, 1e-12);
  EXPECT_GT(value_of("batch-scaling", "loss-kept-linear-b256"), 1);  // beyond its last batch
  EXPECT_LT(value_of("batch-scaling", "loss-kept-root-b256"), 1);
}

TEST(LearnedRouting, TheAuxiliaryLossKeepsExpertsInUse) {
  const auto of = [](const char* what, const char* which) {
    return value_of("learned-routing", std::string(what) + "-" + which);
  };
  for (const std::string top : {"top1", "top2"}) {
    const std::string without = top + "-balance0", with = top + "-balance0.1";
    EXPECT_GT(of("idle", without.c_str()), of("idle", with.c_str()) + 5) << top;
    EXPECT_GT(of("dropped", without.c_str()), 2 * of("dropped", with.c_str())) << top;
    EXPECT_GT(of("loss", without.c_str()), of("loss", with.c_str())) << top;
    EXPECT_GT(of("busiest", without.c_str()), 1.5 * of("busiest", with.c_str())) << top;
  }
  // Two choices lose less: who finds no room with the first may have the second.
  EXPECT_LT(of("loss", "top2-balance0"), of("loss", "top1-balance0"));
}

}  // namespace
}  // namespace cox::evaluate
