// SPDX-License-Identifier: Apache-2.0
#include "forecast/calibrate/over_sizes.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace cox::forecast {
namespace {

std::vector<SizedTime> times(double (*value)(double), const std::vector<std::int64_t>& sizes, double error) {
  std::vector<SizedTime> out;
  out.reserve(sizes.size());
  for (const std::int64_t n : sizes)
    out.push_back({.ranks = n, .value = Seconds{value(static_cast<double>(n))}, .error = Seconds{error}});
  return out;
}

TEST(OverSizes, FindsTheLawThatItWasMadeBy) {
  const auto linear = fit_growth(times([](double n) { return 10 + 0.2 * n; }, {4, 8, 16}, 0.01));
  EXPECT_EQ(linear.front().growth, Growth::Linear);
  EXPECT_NEAR(linear.front().slope.count(), 0.2, 1e-12);
  EXPECT_NEAR(linear.front().held_out.count(), 0, 1e-12);
  const auto logarithm = fit_growth(times([](double n) { return 10 + 0.2 * std::log(n); }, {4, 8, 16}, 0.01));
  EXPECT_EQ(logarithm.front().growth, Growth::Logarithm);
  EXPECT_NEAR(logarithm.front().slope.count(), 0.2, 1e-12);
}

TEST(OverSizes, WhatIsWithinItsErrorDoesNotGrow) {
  const auto fits = fit_growth(times([](double n) { return 10 + 0.001 * n; }, {4, 8, 16}, 0.01));
  EXPECT_EQ(fits.front().growth, Growth::None);
}

TEST(OverSizes, TwoSizesTellThatItGrowsButNotHow) {
  const auto fits = fit_growth(times([](double n) { return 10 + 0.2 * n; }, {4, 8}, 0.01));
  EXPECT_NE(fits.front().growth, Growth::None);
  EXPECT_EQ(fits[0].held_out, fits[1].held_out);
  EXPECT_TRUE(fit_growth(times([](double n) { return n; }, {4}, 0.01)).empty());
}

TEST(OverSizes, NothingShrinks) {
  const auto fits = fit_growth(times([](double n) { return 10 - 0.2 * n; }, {4, 8, 16}, 0.01));
  for (const GrowthFit& fit : fits) EXPECT_GE(fit.slope.count(), 0);
}

TEST(OverSizes, RunsOfOneSizeAreOneTime) {
  const auto merged = merged_by_size({{.ranks = 8, .value = Seconds{1}, .error = Seconds{0.1}},
                                      {.ranks = 16, .value = Seconds{2}, .error = Seconds{0.1}},
                                      {.ranks = 16, .value = Seconds{4}, .error = Seconds{0.1}}});
  ASSERT_EQ(merged.size(), 2U);
  EXPECT_EQ(merged[0].error.count(), 0.1);
  EXPECT_EQ(merged[1].value.count(), 3);
  EXPECT_NEAR(merged[1].error.count(), 1, 1e-12) << "what they differ by, not their noise";
}

}  // namespace
}  // namespace cox::forecast
