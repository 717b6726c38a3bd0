// SPDX-License-Identifier: Apache-2.0
#include "forecast/regimes/margin.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "forecast/regimes/recipe.hpp"

namespace cox::forecast {
namespace {

/// T = 0.1 + 0.004 H_n + 2e-6 n at 4,096 ranks, H_n = ln n + gamma: factors on ranks, jitter, contention. What a further
/// rank adds over what the first one did, dX/dn T_1 = eps T_1 / T, is 0.651.
double marginal_share(std::span<const double> factors) {
  constexpr double kGamma = 0.57721566490153286;
  const double n = 4'096 * factors[0];
  const double a = 0.004 * factors[1];
  const double b = 2e-6 * factors[2];
  const double t = 0.1 + a * (std::log(n) + kGamma) + b * n;
  return (1 - (a + b * n) / t) * (0.1 + a * kGamma + b) / t;
}

std::vector<MarginParameter> parameters() {
  return {{.name = "ranks", .worst = false}, {.name = "jitter"}, {.name = "contention"}};
}

// By a computation of its own (sequential quadratic programming): 13,350 ranks, x2.34, x3.48; together x2.21 and x1.26.
TEST(Margin, AloneAndTogetherAreThoseOfTheHandComputedJob) {
  const Margins m = margins_of(parameters(), marginal_share, 0.5);
  EXPECT_NEAR(m.elasticity, 0.651, 5e-4);
  EXPECT_FALSE(m.crossed);
  ASSERT_EQ(m.alone.size(), 3U);
  EXPECT_NEAR(4'096 * m.alone[0].factor.value_or(0), 13'350, 10);
  EXPECT_NEAR(m.alone[1].factor.value_or(0), 2.34, 0.005);
  EXPECT_NEAR(m.alone[2].factor.value_or(0), 3.48, 0.005);
  ASSERT_TRUE(m.worst);
  EXPECT_DOUBLE_EQ(m.worst->factors[0], 1) << "the size is chosen, it does not happen to a job";
  EXPECT_NEAR(m.worst->factors[1], 2.21, 0.01);
  EXPECT_NEAR(m.worst->factors[2], 1.26, 0.01);
  EXPECT_NEAR(m.worst->distance, 0.825, 0.001);
  EXPECT_LT(m.worst->distance, std::log(*m.alone[1].factor));
}

// Behind the boundary the size that leads back is smaller; before it a smaller one is not looked at.
TEST(Margin, ASizeIsLookedAtOnTheWayOnAndBehindTheBoundaryOnTheWayBack) {
  const std::vector<MarginParameter> size{{.name = "ranks", .worst = false, .one_way = true}};
  const auto eps = [](std::span<const double> f) { return 1 - 0.8 * f[0]; };
  const Margins behind = margins_of(size, eps, 0.5);
  EXPECT_TRUE(behind.crossed);
  EXPECT_NEAR(behind.alone[0].factor.value_or(0), 0.625, 1e-6);
  const Margins before = margins_of(
      size, [&](std::span<const double> f) { return 1 - 0.2 * f[0]; }, 0.5);
  EXPECT_FALSE(before.crossed);
  EXPECT_NEAR(before.alone[0].factor.value_or(0), 2.5, 1e-6);
  const Margins never = margins_of(
      size, [&](std::span<const double> f) { return 1 - 0.2 / f[0]; }, 0.5);
  EXPECT_FALSE(never.alone[0].factor) << "a smaller job is nobody's question";
}

TEST(Margin, WithoutReplicatesThereIsNoBand) {
  const Margins m = margins_of(parameters(), marginal_share, 0.5);
  for (const Margin& one : m.alone) {
    EXPECT_TRUE(one.factor);
    EXPECT_FALSE(one.banded || one.low || one.high);
  }
  const std::vector<ElasticityWith> one{marginal_share};
  EXPECT_TRUE(margins_of(parameters(), marginal_share, 0.5, one).alone[1].banded);
}

// Worse can be less: here of a bandwidth. And what cannot cross says so.
TEST(Margin, LooksOnBothSidesAndSaysWhatDoesNotCross) {
  const std::vector<MarginParameter> all{{.name = "bandwidth"}, {.name = "nothing"}};
  const Margins m = margins_of(
      all, [](std::span<const double> f) { return 1 - 0.1 / f[0]; }, 0.5);
  EXPECT_NEAR(m.alone[0].factor.value_or(0), 0.2, 1e-6);
  EXPECT_FALSE(m.alone[1].factor);
  ASSERT_TRUE(m.worst);
  EXPECT_NEAR(m.worst->factors[0], 0.2, 1e-4);
  EXPECT_NEAR(m.worst->factors[1], 1, 1e-6);

  const Margins none = margins_of(
      all, [](std::span<const double>) { return 1.0; }, 0.5);
  EXPECT_FALSE(none.alone[0].factor);
  EXPECT_FALSE(none.worst);
}

TEST(Margin, SmallerThanItsParametersErrorIsNone) {
  std::vector<MarginParameter> all = parameters();
  all[1].error = std::log(3.0);
  all[2].error = std::log(3.0);
  const Margins m = margins_of(all, marginal_share, 0.5);
  EXPECT_TRUE(m.alone[1].within_error);
  EXPECT_FALSE(m.alone[2].within_error);
}

// A job beyond the boundary: how far back it is.
TEST(Margin, OfAJobThatHasCrossedLeadsBack) {
  const std::vector<MarginParameter> all{{.name = "ranks"}};
  const Margins m = margins_of(
      all, [](std::span<const double> f) { return 1 - f[0] * 0.8; }, 0.5);
  EXPECT_TRUE(m.crossed);
  EXPECT_NEAR(m.alone[0].factor.value_or(0), 0.5 / 0.8, 1e-6);
}

TEST(Margin, ReplicatesGiveTheBandAndNoneIsDropped) {
  std::vector<ElasticityWith> replicates;
  replicates.reserve(20);
  for (int i = 0; i < 20; ++i)
    replicates.emplace_back(
        [i](std::span<const double> f) { return i < 4 ? 1.0 : 1 - 0.1 * f[0] * (1 + 0.02 * i); });
  const std::vector<MarginParameter> all{{.name = "jitter"}};
  const Margins m = margins_of(
      all, [](std::span<const double> f) { return 1 - 0.1 * f[0]; }, 0.5, replicates);
  EXPECT_NEAR(m.alone[0].factor.value_or(0), 5, 1e-6);
  EXPECT_NEAR(m.alone[0].low.value_or(0), 5 / 1.38, 1e-5);
  EXPECT_FALSE(m.alone[0].high);
  EXPECT_DOUBLE_EQ(m.alone[0].beyond, 0.2);
}

// A draw is looked at less closely than the estimate, in another order: it is the same number.
TEST(Margin, TheNearestOfADrawIsThatOfAllOfThem) {
  const std::vector<MarginParameter> all = parameters();
  const Margins found = margins_of(all, marginal_share, 0.5);
  for (const double jitter : {0.7, 1.0, 1.6, 2.0})
    for (const double contention : {0.5, 1.0, 2.0}) {
      const ElasticityWith draw = [&](std::span<const double> f) {
        const double other[] = {f[0], f[1] * jitter, f[2] * contention};
        return marginal_share(other);
      };
      const Margins exact = margins_of(all, draw, 0.5);
      double least = exact.crossed ? 0 : std::numeric_limits<double>::infinity();
      for (const Margin& one : exact.alone)
        if (one.factor && !exact.crossed) least = std::min(least, std::abs(std::log(*one.factor)));
      EXPECT_NEAR(std::log(nearest_like(found, all, draw)), least, 0.005 * least)
          << jitter << ' ' << contention;
    }
  EXPECT_EQ(nearest_like(found, all, [](std::span<const double>) { return 0.4; }), 1) << "crossed";
  EXPECT_TRUE(std::isinf(nearest_like(found, all, [](std::span<const double>) { return 0.9; })));
}

// The margin in size is where the regime ends.
TEST(Margin, InRanksIsTheBoundaryItself) {
  const ScalingJob job = testing::recipe();
  const std::vector<MarginParameter> all{{.name = "ranks"}};
  const Margins m = margins_of(
      all,
      [&](std::span<const double> f) { return job.at(std::llround(512 * f[0]), kEveryMechanism).elasticity; },
      0.5);
  EXPECT_NEAR(512 * m.alone[0].factor.value_or(0), 2'723, 5);
}

}  // namespace
}  // namespace cox::forecast
