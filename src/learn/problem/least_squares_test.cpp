// SPDX-License-Identifier: Apache-2.0
#include "learn/problem/least_squares.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "cox/learn/optimize.hpp"

namespace cox::learn {
namespace {

TEST(LeastSquares, GradientIsThatOfTheLoss) {
  LeastSquares p({.kind = ProblemKind::LeastSquares, .dimension = 6, .noise = 0.5});
  std::vector<float> x(6, 0.25F);
  std::vector<float> g(6);
  std::vector<float> unused(6);
  const Shard shard{.first = 3, .count = 4};
  p.gradient(x, shard, g);
  for (std::size_t k = 0; k < 6; ++k) {
    const float at = x[k];
    x[k] = at + 0.0625F;
    const double more = p.gradient(x, shard, unused);
    x[k] = at - 0.0625F;
    const double less = p.gradient(x, shard, unused);
    x[k] = at;
    EXPECT_NEAR(g[k], (more - less) / 0.125, 1e-5);  // exact for a quadratic but for rounding
  }
}

/// The factor of one step at the best rate is 1 - 1 / (1 + (d + 1) / B): check 52 of the reference, d = 20.
TEST(LeastSquares, CriticalBatchIsOneMoreThanTheDimension) {
  constexpr std::int64_t kDimension = 20;
  constexpr int kRuns = 3000;
  for (const auto& [batch, expected] : {std::pair{4, 0.84}, {16, 0.567568}, {64, 0.247059}}) {
    const double rate = 1 / (1 + (kDimension + 1.0) / batch);
    EXPECT_NEAR(1 - rate, expected, 1e-6);
    LeastSquares p({.kind = ProblemKind::LeastSquares, .dimension = kDimension});
    Optimizer sgd({.rate = rate}, p.tensors());
    std::vector<float> x(kDimension);
    std::vector<float> g(kDimension);
    double sum = 0;
    double squares = 0;
    for (int run = 0; run < kRuns; ++run) {
      p.initial(x);
      const double before = p.score(x).loss;
      p.gradient(x, {.first = std::int64_t{run} * batch, .count = batch}, g);
      sgd.step(x, g);
      const double factor = p.score(x).loss / before;
      sum += factor;
      squares += factor * factor;
    }
    const double mean = sum / kRuns;
    const double error = std::sqrt((squares / kRuns - mean * mean) / kRuns);
    EXPECT_NEAR(mean, expected, 4 * error) << batch;
    EXPECT_LT(error, 0.02 * expected) << batch;
  }
}

TEST(LeastSquares, LabelNoiseStaysInTheLossOfSamples) {
  LeastSquares p({.kind = ProblemKind::LeastSquares, .dimension = 3, .noise = 2});
  std::vector<float> g(3);
  const double loss = p.gradient(p.truth(), {.first = 0, .count = 4000}, g);
  EXPECT_NEAR(loss, 2, 4 * 2 * std::sqrt(2.0 / 4000));  // noise^2 / 2, four standard errors
  EXPECT_EQ(p.score(p.truth()).loss, 0);
}

}  // namespace
}  // namespace cox::learn
