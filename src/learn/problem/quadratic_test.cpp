// SPDX-License-Identifier: Apache-2.0
#include "learn/problem/quadratic.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "cox/learn/optimize.hpp"

namespace cox::learn {
namespace {

std::vector<float> gradient(Problem& p, std::span<const float> x, const Shard& shard) {
  std::vector<float> g(x.size());
  p.gradient(x, shard, g);
  return g;
}

std::vector<float> start(const Problem& p) {
  std::vector<float> x(static_cast<std::size_t>(p.parameters()));
  p.initial(x);
  return x;
}

TEST(Quadratic, SpectrumIsEvenInTheLogarithm) {
  const Quadratic p({.dimension = 5, .condition = 16, .curvature = 8});
  const std::vector<float> expected = {8, 4, 2, 1, 0.5};
  for (std::size_t k = 0; k < 5; ++k) EXPECT_NEAR(p.curvatures()[k], expected[k], 1e-6 * expected[k]);
}

TEST(Quadratic, GradientAndLossAreThoseOfTheFormula) {
  Quadratic p({.dimension = 19, .condition = 10});
  auto x = start(p);
  std::vector<float> g(19);
  const double loss = p.gradient(x, {}, g);
  EXPECT_NEAR(loss, p.score(x).loss, 1e-6);
  for (std::size_t k = 0; k < 19; ++k) EXPECT_EQ(g[k], p.curvatures()[k]);
}

/// In exact numbers, plain steps shrink coordinate k by 1 - rate c_k each.
TEST(Quadratic, PlainStepsFollowTheClosedForm) {
  const ProblemSpec spec{.dimension = 8, .condition = 20};
  Quadratic p(spec);
  Optimizer sgd({.rate = 0.5}, p.tensors());
  auto x = start(p);
  for (int t = 0; t < 10; ++t) sgd.step(x, gradient(p, x, {}));
  for (std::size_t k = 0; k < 8; ++k)
    EXPECT_NEAR(x[k], std::pow(1 - 0.5 * static_cast<double>(p.curvatures()[k]), 10), 1e-6);
}

TEST(Quadratic, BasisChangesParametersAndNotTheLoss) {
  Quadratic plain({.dimension = 8, .condition = 20});
  Quadratic turned({.dimension = 8, .condition = 20, .reflections = 3});
  Optimizer sgd({.rate = 0.5}, plain.tensors());
  auto x = start(plain);
  auto y = start(turned);
  EXPECT_GT(std::abs(x[0] - y[0]), 0.01F);
  for (int t = 0; t < 10; ++t) {
    sgd.step(x, gradient(plain, x, {}));
    sgd.step(y, gradient(turned, y, {}));
    EXPECT_NEAR(plain.score(x).loss, turned.score(y).loss, 1e-6);
  }
}

TEST(Quadratic, UnlikeWorkersHaveTheirMeanProblem) {
  const ProblemSpec spec{
      .dimension = 6, .condition = 10, .spread = 2, .hessian_spread = 0.5, .workers = 5, .reflections = 2};
  Quadratic p(spec);
  for (std::size_t k = 0; k < 6; ++k) {
    double sum = 0;
    double squares = 0;
    for (int w = 0; w < 5; ++w) {
      const double b = p.offset(w)[k];
      sum += b;
      squares += b * b;
    }
    EXPECT_NEAR(sum, 0, 1e-5);
    EXPECT_NEAR(std::sqrt(squares / 5), 2, 1e-5);
  }
  const auto optimum = p.optimum();
  const std::vector<float> x(optimum.begin(), optimum.end());
  std::vector<double> mean(6);
  for (int w = 0; w < 5; ++w) {
    const auto g = gradient(p, x, {.first = 0, .count = 1, .worker = w});
    for (std::size_t k = 0; k < 6; ++k) mean[k] += g[k] / 5.0;
  }
  for (const double m : mean) EXPECT_NEAR(m, 0, 1e-6);
  EXPECT_NEAR(p.score(x).loss, 0, 1e-10);
}

/// K local steps of two workers with curvatures 1 and 3 and optima 0.5 below and above the middle. The closed form of
/// their average's fixed point, moved to this middle: sum M_w b_w / sum M_w with M_w = 1 - (1 - rate c_w)^K.
TEST(Quadratic, LocalStepsHaveTheBiasedFixedPoint) {
  Quadratic p({.dimension = 1, .curvature = 2, .spread = 0.5, .hessian_spread = 0.5, .workers = 2});
  Optimizer sgd({.rate = 0.1}, p.tensors());
  const double sign = p.offset(1)[0] > 0 ? 1 : -1;
  for (const auto& [steps, expected] : {std::pair{1, 0.75}, {2, 0.728571}, {8, 0.623296}, {32, 0.508731}}) {
    std::vector<float> x = {5};
    for (int round = 0; round < 400; ++round) {
      double mean = 0;
      for (int w = 0; w < 2; ++w) {
        std::vector<float> y = x;
        for (int k = 0; k < steps; ++k) sgd.step(y, gradient(p, y, {.first = 0, .count = 1, .worker = w}));
        mean += y[0] / 2.0;
      }
      x[0] = static_cast<float>(mean);
    }
    EXPECT_NEAR(x[0], sign * (expected - 0.5), 2e-6) << steps;
  }
}

TEST(Quadratic, NoiseBelongsToTheSampleAndItsMeanFallsAsTheRoot) {
  Quadratic p({.dimension = 1000, .condition = 1, .noise = 2});
  Quadratic same({.dimension = 1000, .condition = 1, .noise = 2});
  const std::vector<float> zero(1000);
  const auto g5 = gradient(p, zero, {.first = 5, .count = 1});
  EXPECT_EQ(g5, gradient(same, zero, {.first = 5, .count = 1}));
  const auto g6 = gradient(p, zero, {.first = 6, .count = 1});
  EXPECT_NE(g5, g6);
  const auto both = gradient(p, zero, {.first = 5, .count = 2});
  for (std::size_t k = 0; k < 1000; ++k) EXPECT_NEAR(both[k], (g5[k] + g6[k]) / 2, 1e-6);
  double squares = 0;
  for (std::int64_t i = 0; i < 20; ++i)
    for (const float v : gradient(p, zero, {.first = 16 * i, .count = 16}))
      squares += static_cast<double>(v) * v;
  EXPECT_NEAR(squares / 20000, 4.0 / 16, 4 * std::sqrt(2.0 / 20000) / 4);  // four standard errors
}

/// rate sigma^2 / (2 B (2 - rate L)) per coordinate: what plain SGD comes to rest at.
TEST(Quadratic, FloorOfNoiseIsTheClosedForm) {
  constexpr std::int64_t kCoordinates = 2000;
  constexpr double kVariance = 4;
  constexpr std::int64_t kBatch = 8;
  for (const auto& [rate, expected] : {std::pair{1.0, 0.25}, {0.5, 0.0833333}, {0.1, 0.0131579}}) {
    EXPECT_NEAR(rate * kVariance / (2 * kBatch * (2 - rate)), expected, 1e-6);
    Quadratic p({.dimension = kCoordinates, .condition = 1, .noise = std::sqrt(kVariance)});
    Optimizer sgd({.rate = rate}, p.tensors());
    std::vector<float> x(kCoordinates);
    std::vector<float> g(kCoordinates);
    const int settle = static_cast<int>(4 / rate);
    for (int t = 0; t < settle; ++t) {
      p.gradient(x, {.first = t * kBatch, .count = kBatch}, g);
      sgd.step(x, g);
    }
    // kCoordinates independent copies: relative standard error of the mean square sqrt(2 / kCoordinates) = 3.2 %
    const double left = std::pow(1 - rate, 2 * settle);
    EXPECT_NEAR(p.score(x).loss / kCoordinates, expected * (1 - left), 4 * 0.032 * expected) << rate;
  }
}

}  // namespace
}  // namespace cox::learn
