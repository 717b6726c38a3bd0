// SPDX-License-Identifier: Apache-2.0
#include "learn/stability/delay.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace cox::learn {
namespace {

constexpr double kPi = 3.14159265358979323846;

// Section 4's table and checks 1 to 9 of the reference: b = 0, .5, .9, .99, then Nesterov .5, .9, .99.
TEST(StableEdge, TheTable) {
  const struct {
    std::int64_t tau;
    double edges[7];
  } rows[] = {{0, {2, 3, 3.8, 3.98, 1.5, 1.35714, 1.33557}},
              {1, {1, .5, .1, .01, .561553, .253138, .091367}},
              {2, {.618034, .280776, .0512492, .0050125, .311613, .0807046, .0097160}},
              {3, {.445042, .199267, .0347841, .0033481, .217031, .0463708, .0049517}},
              {5, {.284630, .128552, .0215007, .0020159, .136862, .0253114, .0025018}},
              {10, {.149460, .0696165, .0113899, .0010162, .0723277, .0123036, .0011248}},
              {15, {.101298, .0480375, .0079286, .0006828, .0493823, .0083395, .0007294}},
              {20, {.0766055, .0367255, .0061491, .0005160, .0375286, .0063856, .0005418}}};
  const double momenta[] = {0, .5, .9, .99};
  for (const auto& row : rows) {
    for (int i = 0; i < 4; ++i)
      EXPECT_NEAR(stable_edge({.delay = row.tau, .momentum = momenta[i]}), row.edges[i],
                  6e-6 * row.edges[i] + 5e-8)
          << row.tau << ' ' << momenta[i];
    for (int i = 1; i < 4; ++i)
      EXPECT_NEAR(stable_edge({.delay = row.tau, .momentum = momenta[i], .kind = MomentumKind::Nesterov}),
                  row.edges[3 + i], 6e-6 * row.edges[3 + i] + 5e-8)
          << row.tau << " Nesterov " << momenta[i];
  }
}

TEST(StableEdge, TheClosedFormWithoutMomentum) {
  for (const std::int64_t tau : {0, 1, 2, 3, 5, 10, 20, 50, 1000})
    EXPECT_NEAR(stable_edge({.delay = tau}), 2 * std::sin(kPi / (2 * (2 * static_cast<double>(tau) + 1))),
                1e-12);
}

TEST(StableEdge, IsWhereARootOfThePolynomialLeavesTheCircle) {
  for (const MomentumKind kind : {MomentumKind::HeavyBall, MomentumKind::Nesterov})
    for (const double b : {0.0, 0.5, 0.9, 0.99})
      for (const std::int64_t tau : {0, 1, 2, 7, 20, 50}) {
        const DelayedGradient way{.delay = tau, .momentum = b, .kind = kind};
        const double edge = stable_edge(way);
        EXPECT_NEAR(growth(way, edge), 1, 1e-9) << tau << ' ' << b;
        EXPECT_LT(growth(way, 0.98 * edge), 1) << tau << ' ' << b;
        EXPECT_GT(growth(way, 1.02 * edge), 1) << tau << ' ' << b;
      }
}

// Check 10: steps to a thousandfold at 1 % beyond the edge.
TEST(StableEdge, NearItGrowthIsSlow) {
  const std::pair<std::int64_t, double> rows[] = {{0, 349}, {1, 1388}, {10, 10230}, {50, 49254}};
  for (const auto& [tau, steps] : rows)
    EXPECT_NEAR(std::log(1000.0) / std::log(growth({.delay = tau}, 1.01 * stable_edge({.delay = tau}))),
                steps, 0.001 * steps + 0.5);
}

// Check 11: a rate that is divided by 1 + tau has its base limits between pi/2 and 2.
TEST(StableEdge, WeightedByAge) {
  const std::pair<std::int64_t, double> rows[] = {{0, 2},      {1, 2},       {2, 1.8541},  {3, 1.7802},
                                                  {5, 1.7078}, {10, 1.6441}, {20, 1.6087}, {50, 1.5863}};
  for (const auto& [tau, limit] : rows)
    EXPECT_NEAR(static_cast<double>(1 + tau) * stable_edge({.delay = tau}), limit, 6e-5);
}

// Checks 17 to 19.
TEST(StationaryVariance, ValuesAndClosedForms) {
  const std::pair<std::int64_t, double> rows[] = {
      {0, .025641}, {5, .033041}, {10, .043388}, {20, .089370}, {29, .522544}};
  for (const auto& [tau, variance] : rows)
    EXPECT_NEAR(0.05 * 0.05 * stationary_variance({.delay = tau}, 0.05), variance, 6e-7) << tau;
  EXPECT_NEAR(stationary_variance({.delay = 1}, 0.5), 2.4, 1e-9);
  EXPECT_NEAR(stationary_variance({.delay = 1}, 0.5), (1 + 0.5) / (0.5 * 0.5 * 2.5), 1e-9);
  EXPECT_NEAR(stationary_variance({}, 0.3), 1 / (0.3 * 1.7), 1e-9);
  EXPECT_NEAR(stationary_variance({.momentum = 0.9}, 0.1), 51.351351, 1e-6);
}

// Section 4: at 10, 50 and 90 % of the edge of delay 7, floors over the fresh one.
TEST(StationaryVariance, GrowsFromHalfTheEdgeOn) {
  const double edge = stable_edge({.delay = 7});
  for (const auto& [part, times] : {std::pair{0.1, 1.16}, {0.5, 2.29}, {0.9, 11.5}}) {
    const double a = part * edge;
    EXPECT_NEAR(stationary_variance({.delay = 7}, a) * a * (2 - a), times, 0.005 * times);
  }
}

}  // namespace
}  // namespace cox::learn
