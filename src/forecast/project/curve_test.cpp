// SPDX-License-Identifier: Apache-2.0
#include "cox/forecast/curve.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace cox::forecast {
namespace {

Curve table(double (*value)(double), std::vector<std::int64_t> sizes,
            CurveValue what = CurveValue::StepTime) {
  Curve curve{.name = "t.csv", .value = what, .points = {}};
  for (const std::int64_t n : sizes)
    curve.points.push_back({.size = n, .value = value(static_cast<double>(n))});
  return curve;
}

TEST(Curve, FindsTheCurveThatTheTableIsOf) {
  const auto logarithm =
      project(table([](double n) { return 2 + 0.3 * std::log(n); }, {2, 4, 8, 16}), {1024}).value();
  EXPECT_EQ(logarithm.models.front().name, "a + b ln N");
  EXPECT_NEAR(logarithm.points[0].value, 2 + 0.3 * std::log(1024.0), 1e-9);
  const auto power =
      project(table([](double n) { return 2 * std::pow(n, 0.3); }, {2, 4, 8, 16}), {1024}).value();
  EXPECT_EQ(power.models.front().name, "a N^b");
  // Amdahl: strong scaling, T = 9 / N + 1.
  const auto strong =
      project(table([](double n) { return 9 / n + 1; }, {2, 4, 8, 16}), {1024}, Scaling::Strong).value();
  EXPECT_EQ(strong.models.front().name, "a + b N (Amdahl)");
  EXPECT_NEAR(strong.points[0].value, 9.0 / 1024 + 1, 1e-9);
}

TEST(Curve, UniversalScalabilityPeaksWhereItDoes) {
  const auto usl = [](double n) { return n / (1 + 0.03 * (n - 1) + 1e-4 * n * (n - 1)); };
  const auto f = project(table(usl, {4, 8, 16, 32, 64}, CurveValue::Throughput), {98, 400}).value();
  EXPECT_EQ(f.models.front().name, "a + b N + c N^2 (USL)");
  EXPECT_NEAR(f.points[0].value, 20.1622, 1e-3);
  EXPECT_LT(f.points[1].value, f.points[0].value);
}

TEST(Curve, FarOutIsNarrowerForNobody) {
  const auto f =
      project(table([](double n) { return 2 + 0.3 * std::log(n) + 0.02 * std::sin(n); }, {2, 4, 8, 16, 32}),
              {32, 64, 128, 256, 512})
          .value();
  for (std::size_t i = 1; i < f.points.size(); ++i) {
    EXPECT_LE(f.points[i].low, f.points[i].value);
    EXPECT_GE(f.points[i].high / f.points[i].low, f.points[i - 1].high / f.points[i - 1].low);
  }
  const double at_64 = 2 + 0.3 * std::log(64.0);
  EXPECT_LT(f.points[1].low, at_64);
  EXPECT_GT(f.points[1].high, at_64);
}

TEST(Curve, WhatCurvesDoNotAgreeOnIsRefused) {
  const auto f =
      project(table([](double n) { return n < 4 ? 1 : (n < 16 ? 1.6 : 4); }, {2, 4, 8, 16}), {4096}).value();
  EXPECT_FALSE(f.points[0].refused.empty());
}

TEST(Curve, AConstantTableStaysConstantWithinTwoPercent) {
  const auto f = project(table([](double) { return 3.0; }, {2, 4, 8}), {1024}).value();
  EXPECT_EQ(f.points[0].value, 3);
  EXPECT_NEAR(f.points[0].high, 3, 1e-6);
}

TEST(Curve, TwoSizesAndNoValueAreRefused) {
  EXPECT_EQ(project(table([](double n) { return n; }, {2, 4}), {8}).error().id, "forecast-012");
  EXPECT_EQ(project(table([](double) { return 0.0; }, {2, 4, 8}), {8}).error().id, "forecast-012");
  EXPECT_FALSE(project(table([](double n) { return n; }, {2, 4, 8}), {0}).value().points[0].refused.empty());
}

}  // namespace
}  // namespace cox::forecast
