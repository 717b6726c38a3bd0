// SPDX-License-Identifier: Apache-2.0
#include "learn/stability/local_rounds.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "learn/stability/delay.hpp"

namespace cox::learn {
namespace {

constexpr std::array<LocalQuadratic, 2> kTwo = {{{1, 0}, {3, 1}}};
constexpr double kRate = 0.1;

// Checks 28 to 30 of the reference.
TEST(LocalRounds, FixedPointsGapAndFactor) {
  const std::pair<std::int64_t, double> rows[] = {{1, .75},     {2, .728571},  {4, .688440},
                                                  {8, .623296}, {16, .550232}, {32, .508731}};
  for (const auto& [k, x] : rows) EXPECT_NEAR(local_fixed_point(kTwo, kRate, k), x, 6e-7);
  EXPECT_NEAR(mean_gap(kTwo, local_fixed_point(kTwo, kRate, 8)), .0160539, 6e-8);
  EXPECT_NEAR(local_round_factor(kTwo, kRate, 8), .2440576, 6e-8);
  EXPECT_EQ(mean_optimum(kTwo), 0.75);
}

TEST(LocalRounds, EqualCurvaturesHaveNoBias) {
  const std::array<LocalQuadratic, 3> equal = {{{2, 0}, {2, 1}, {2, 5}}};
  for (const std::int64_t k : {1, 7, 100}) EXPECT_NEAR(local_fixed_point(equal, kRate, k), 2, 1e-12);
}

// Section 3: bias -lr (K-1)/2 (S(l^2 b) S(l) - S(l^2) S(l b)) / S(l)^2 for small steps.
TEST(LocalRounds, SmallStepsHaveALinearBias) {
  EXPECT_NEAR(local_fixed_point(kTwo, 0.01, 8) - 0.75, -0.01321, 6e-6);
}

/// DiLoCo by its rule; eta 1 and mu 0 is local SGD.
double recursion(double eta, double mu, std::int64_t k) {
  double theta = 5;
  double v = 0;
  for (int round = 0; round < 3000; ++round) {
    double mean = 0;
    for (const LocalQuadratic& w : kTwo) {
      double x = theta;
      for (std::int64_t i = 0; i < k; ++i) x -= kRate * w.curvature * (x - w.optimum);
      mean += x / 2;
    }
    const double d = theta - mean;
    v = mu * v + d;
    theta -= eta * (d + mu * v);
  }
  return theta;
}

// Checks 33 to 35.
TEST(LocalRounds, DiLoCoHasTheSameFixedPointAndItsOwnEdge) {
  EXPECT_NEAR(recursion(0.7, 0.9, 8), local_fixed_point(kTwo, kRate, 8), 1e-12);
  EXPECT_NEAR(recursion(1, 0, 8), local_fixed_point(kTwo, kRate, 8), 1e-12);
  const std::pair<double, double> rows[] = {
      {0, .519615}, {0.5, .7649}, {0.9, .9149}, {0.99, .945357}, {-0.95, 1.016627}};
  for (const auto& [q, factor] : rows) EXPECT_NEAR(diloco_factor(0.7, 0.9, q), factor, 5e-5) << q;
  const double edge = stable_edge({.momentum = 0.9, .kind = MomentumKind::Nesterov});
  EXPECT_NEAR(edge, 1.357143, 6e-7);
  EXPECT_NEAR(diloco_factor(0.7, 0.9, 1 - edge / 0.7), 1, 1e-9);
}

// Checks 31 and 32.
TEST(LocalRounds, SpreadBeforeTheMean) {
  EXPECT_NEAR(local_spread(4, kRate, 1, 8), .0321591, 6e-8);
  // Variance of the mean: that of one step, whatever K.
  EXPECT_NEAR(kRate * kRate * stationary_variance({}, kRate) / 4, .0131579, 6e-8);
}

// Checks 36 and 37.
TEST(LocalRounds, FedProxAndScaffold) {
  EXPECT_NEAR(fedprox_fixed_point(kTwo, 1), .6, 1e-12);
  EXPECT_NEAR(fedprox_fixed_point(kTwo, 10), .717391, 6e-7);
  double x = 5;
  double c = 0;
  std::array<double, 2> own{};
  for (int round = 0; round < 3000; ++round) {
    double mean = 0;
    std::array<double, 2> next{};
    for (std::size_t i = 0; i < 2; ++i) {
      double y = x;
      for (int k = 0; k < 8; ++k) y -= kRate * (kTwo[i].curvature * (y - kTwo[i].optimum) - own[i] + c);
      next[i] = own[i] - c + (x - y) / (8 * kRate);
      mean += y / 2;
    }
    x = mean;
    c += (next[0] - own[0] + next[1] - own[1]) / 2;
    own = next;
  }
  EXPECT_NEAR(x, mean_optimum(kTwo), 1e-12);
  EXPECT_NEAR(own[0], 0.75, 1e-12);
  EXPECT_NEAR(own[1], -0.75, 1e-12);
}

}  // namespace
}  // namespace cox::learn
