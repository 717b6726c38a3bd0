// SPDX-License-Identifier: Apache-2.0
#include "forecast/law/law.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace cox::forecast {
namespace {

constexpr Seconds operator""_s(long double v) {
  return Seconds{static_cast<double>(v)};
}

struct Case {
  std::string name;
  Law law;
  double mean;
  double deviation;
};

std::vector<Case> cases() {
  const std::vector<Seconds> body = {1.0_s, 2.0_s, 2.5_s, 3.0_s};
  const double body_mean = 0.9 * (1.5 + 2.25 + 2.75) / 3 + 0.1 * (3 + 0.5 / 0.8);
  return {{"normal", Law::normal(3.0_s, 2.0_s), 3, 2},
          {"lognormal", Law::lognormal(4.0_s, 0.5), 4, 2},
          {"exponential", Law::exponential(2.0_s), 2, 2},
          {"Pareto", Law::pareto(1.0_s, 3), 1.5, std::sqrt(0.75)},
          {"Weibull", Law::weibull(2.0_s, 2), 2, 2 * std::sqrt(4 / M_PI - 1)},
          {"Student", Law::student(1.0_s, 2.0_s, 4), 1, 2 * std::sqrt(2.0)},
          {"logistic", Law::logistic(1.0_s, 1.0_s), 1, M_PI / std::sqrt(3.0)},
          {"gamma", Law::shifted_gamma(5.0_s, 2.0_s, 2), 5, 2},
          {"gamma, little skew", Law::shifted_gamma(5.0_s, 2.0_s, 0.05), 5, 2},
          {"quantiles", Law::quantiles(body, {3.0_s, 0.5_s, 0.2, 0.1}), body_mean, -1},
          {"moved", Law::exponential(2.0_s).times(3).plus(-1.0_s), 5, 6}};
}

TEST(Law, ProbabilitiesAndQuantilesTurnEachOtherAround) {
  for (const Case& c : cases()) {
    for (const double p : {1e-6, 0.01, 0.2, 0.5, 0.8, 0.97, 0.9999}) {
      EXPECT_NEAR(c.law.below(c.law.quantile(p)) / p, 1, 1e-6) << c.name << ' ' << p;
      EXPECT_NEAR(c.law.above(c.law.upper_quantile(p)) / p, 1, 1e-6) << c.name << ' ' << p;
      EXPECT_NEAR(c.law.above(c.law.quantile(p)), 1 - p, 1e-9) << c.name << ' ' << p;
    }
    // Full relative precision, far out.
    EXPECT_NEAR(c.law.above(c.law.upper_quantile(1e-13)) / 1e-13, 1, 1e-5) << c.name;
  }
}

TEST(Law, MomentsAreThoseOfTheLawAndOfItsQuantiles) {
  for (const Case& c : cases()) {
    double mean = 0;
    double square = 0;
    constexpr int kPoints = 20'000;
    for (int i = 0; i < kPoints; ++i) {
      const double x = c.law.quantile((i + 0.5) / kPoints).count();
      mean += x / kPoints;
      square += x * x / kPoints;
    }
    EXPECT_NEAR(c.law.mean().count(), c.mean, 1e-9 * std::abs(c.mean)) << c.name;
    EXPECT_NEAR(mean, c.mean, 3e-3 * c.mean) << c.name;
    if (c.deviation > 0) {
      EXPECT_NEAR(c.law.deviation().count(), c.deviation, 2e-3 * c.deviation) << c.name;
    }
    EXPECT_NEAR(std::sqrt(square - mean * mean), c.law.deviation().count(), 0.06 * c.law.deviation().count())
        << c.name;
  }
}

TEST(Law, TheTailGoesOnWhereTheBodyEnds) {
  const std::vector<Seconds> body = {1.0_s, 2.0_s};
  const Law law = Law::quantiles(body, {2.0_s, 0.5_s, 0.25, 0.02});
  EXPECT_NEAR(law.above(2.0_s), 0.02, 1e-15);
  EXPECT_NEAR(law.below(1.5_s), 0.49, 1e-15);
  EXPECT_NEAR(law.above(4.0_s), 0.02 * std::pow(1 + 0.25 * 2 / 0.5, -4), 1e-15);
  const Law bounded = Law::quantiles(body, {2.0_s, 0.5_s, -0.5, 0.02});  // ends at u - scale / shape
  EXPECT_EQ(bounded.above(3.0_s), 0);
  EXPECT_NEAR(bounded.upper_quantile(0).count(), 3, 1e-12);
}

TEST(Law, WithoutAMeanItIsInfinite) {
  EXPECT_TRUE(std::isinf(Law::pareto(1.0_s, 1).mean().count()));
  EXPECT_TRUE(std::isinf(Law::pareto(1.0_s, 2).deviation().count()));
  const std::vector<Seconds> body = {1.0_s, 2.0_s};
  EXPECT_TRUE(std::isinf(Law::quantiles(body, {2.0_s, 1.0_s, 1.0, 0.1}).mean().count()));
}

TEST(Law, WhatDoesNotVaryIsConstant) {
  EXPECT_TRUE(Law().is_constant());
  EXPECT_TRUE(Law::normal(2.0_s, 0.0_s).is_constant());
  EXPECT_TRUE(Law::quantiles(std::vector<Seconds>(5, 2.0_s)).is_constant());
  EXPECT_EQ(Law::constant(2.0_s).plus(1.0_s).times(2).mean(), 6.0_s);
  EXPECT_EQ(Law::constant(2.0_s).below(2.0_s), 1);
  EXPECT_EQ(Law::detour(3.0_s, 0).mean(), 0.0_s);
}

TEST(Law, ARuleHasTheMomentsOfItsLaw) {
  for (const Case& c : cases()) {
    if (c.name == "quantiles" || c.name == "Pareto" || c.name == "Student") continue;  // a kink, heavy tails
    double weight = 0;
    double mean = 0;
    double square = 0;
    for (const Law::Point& point : c.law.rule(24)) {
      weight += point.weight;
      mean += point.weight * point.value.count();
      square += point.weight * point.value.count() * point.value.count();
    }
    EXPECT_NEAR(weight, 1, 1e-12);
    EXPECT_NEAR(mean, c.mean, 1e-4 * c.mean) << c.name;
    EXPECT_NEAR(std::sqrt(square - mean * mean), c.deviation, 1e-3 * c.deviation) << c.name;
  }
  const auto detour = Law::detour(3.0_s, 0.25).rule(24);
  ASSERT_EQ(detour.size(), 2U);
  EXPECT_EQ(detour[1].value, 3.0_s);
  EXPECT_EQ(detour[1].weight, 0.25);
}

TEST(Law, TwoModesKeepTheGapBetweenThem) {
  const Law law =
      Law::modes(Law::normal(Seconds{0}, Seconds{1}), Law::exponential(Seconds{1}).plus(Seconds{30}), 0.01);
  EXPECT_NEAR(law.mean().count(), 0.31, 1e-12);
  EXPECT_NEAR(law.deviation().count(), std::sqrt(1 + 0.01 * 0.99 * 31 * 31), 1e-9);
  EXPECT_NEAR(law.above(Seconds{10}), 0.01, 1e-12);
  EXPECT_NEAR(law.above(Seconds{29.9}), 0.01, 1e-12);
  EXPECT_NEAR(law.above(Seconds{31}), 0.01 / 2.718281828459045, 1e-9);
  EXPECT_NEAR(law.quantile(0.495).count(), 0, 1e-9);
  for (const double p : {0.3, 0.011, 0.009, 1e-4}) {
    EXPECT_NEAR(law.above(law.upper_quantile(p)), p, 1e-9 + 1e-6 * p);
    EXPECT_NEAR(law.above(law.plus(Seconds{3}).times(2).quantile(1 - p) / 2 - Seconds{3}), p, 1e-9);
  }
  EXPECT_EQ(law.breaks().back(), Seconds{30});
}

}  // namespace
}  // namespace cox::forecast
