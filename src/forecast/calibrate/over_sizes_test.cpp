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

constexpr GrowthBelief kBelief{.usual = Seconds{0.3}, .shared = Seconds{3}};

TEST(OverSizes, FindsTheLawThatItWasMadeBy) {
  const auto linear = fit_growth(times([](double n) { return 10 + 0.2 * n; }, {4, 8, 16}, 0.01), kBelief);
  EXPECT_EQ(linear.front().growth, Growth::Linear);
  EXPECT_NEAR(linear.front().slope.count(), 0.2, 1e-3);
  EXPECT_GT(linear.front().share, 0.99);
  const auto logarithm =
      fit_growth(times([](double n) { return 10 + 0.2 * std::log(n); }, {4, 8, 16}, 0.01), kBelief);
  EXPECT_EQ(logarithm.front().growth, Growth::Logarithm);
  EXPECT_NEAR(logarithm.front().slope.count(), 0.2, 2e-3);
}

TEST(OverSizes, WhatLevelsOffIsFoundWhereItIsThoughtOf) {
  GrowthBelief belief = kBelief;
  const auto seen = times([](double n) { return 10 * (1 - 1 / n); }, {4, 8, 16}, 0.01);
  for (const GrowthFit& fit : fit_growth(seen, belief)) EXPECT_NE(fit.growth, Growth::Levelling);
  belief.levelling = 0.1;
  belief.left = Seconds{10.0 / 16};
  const auto fits = fit_growth(seen, belief);
  EXPECT_EQ(fits.front().growth, Growth::Levelling);
  EXPECT_GT(fits.front().share, 0.99);
  const Seconds at_64 =
      at_seen({}, fits.front(), 0) + fits.front().slope * growth_at(Growth::Levelling, 64, 16);
  EXPECT_NEAR(at_64.count(), 10 * (1 - 1.0 / 64), 0.02);
}

TEST(OverSizes, SlopesByFoldAreThoseOfTheGrowth) {
  for (const Growth law : {Growth::None, Growth::Logarithm, Growth::Linear, Growth::Levelling}) {
    const double by_fold = (growth_at(law, 101'000, 64) - growth_at(law, 99'000, 64)) / std::log(101.0 / 99);
    EXPECT_NEAR(growth_by_fold(law, 100'000, 64), by_fold, 1e-3 * by_fold + 1e-12);
  }
}

TEST(OverSizes, WhatIsWithinItsErrorDoesNotGrow) {
  const auto fits = fit_growth(times([](double n) { return 10 + 0.001 * n; }, {4, 8, 16}, 0.01), kBelief);
  EXPECT_EQ(fits.front().growth, Growth::None);
}

TEST(OverSizes, TwoSizesTellThatItGrowsButNotHow) {
  const auto fits = fit_growth(times([](double n) { return 10 + 0.2 * n; }, {4, 8}, 0.01),
                               {.usual = Seconds{0.3}, .shared = Seconds{3}, .tree = 0, .line = 0.4});
  EXPECT_NE(fits.front().growth, Growth::None);
  EXPECT_NE(fits[1].growth, Growth::None);
  EXPECT_LT(fits[0].share, 20 * fits[1].share);
  EXPECT_TRUE(fit_growth(times([](double n) { return n; }, {4}, 0.01), kBelief).empty());
}

TEST(OverSizes, ExactTimesOfTwoSizesAreByTheBeliefToo) {
  const auto fits = fit_growth(times([](double n) { return 0.7 * std::log2(n); }, {8, 64}, 0),
                               {.usual = Seconds{1.26}, .shared = Seconds{4.2}});
  EXPECT_EQ(fits[0].growth, Growth::Logarithm);
  EXPECT_NEAR(fits[0].slope.count(), 0.7 / std::log(2), 1e-6);
  EXPECT_GT(fits[1].share + fits[2].share, 0.005) << "another law goes through both";
}

TEST(OverSizes, ErrorsThatHideGrowthLeaveItAWidth) {
  // 1 +- 2 from 8 to 64 ranks: no growth is best, and a growing law is drawn as often as nearly not.
  std::vector<SizedTime> two = times([](double n) { return n > 8 ? 101.0 : 100.0; }, {8, 64}, 0);
  for (SizedTime& t : two) t.error = Seconds{1.4};
  const auto fits = fit_growth(two, {.usual = Seconds{3}, .shared = Seconds{30}});
  double still = 0;
  for (const GrowthFit& f : fits) still += f.growth == Growth::None ? f.share : 0;
  EXPECT_LT(still, 0.9);
  EXPECT_GT(still, 0.4);
  for (const GrowthFit& f : fits)
    if (f.growth == Growth::Logarithm) {
      EXPECT_GT(slope_at(f, 0.05), slope_at(f, 0.95));
      EXPECT_GT(slope_at(f, 0.95).count(), 0);
      EXPECT_NEAR(slope_at(f, 0.5) / f.slope, 1, 0.3);
    }
}

TEST(OverSizes, TimesThatAreHardlyAnyHaveShares) {
  for (const GrowthFit& f :
       fit_growth(times([](double n) { return 1e-300 * n; }, {4, 8, 16}, 1e-303), kBelief))
    EXPECT_TRUE(std::isfinite(f.share) && std::isfinite(f.slope.count()));
}

/// The growing law of two equal times whose slope has an error of so many of the prior's means.
GrowthFit told_by_the_prior(double errors, double mean) {
  std::vector<SizedTime> two = times([](double) { return 100.0; }, {8, 64}, 0);
  for (SizedTime& t : two) t.error = Seconds{errors * mean * std::log(8) / std::sqrt(2)};
  for (const GrowthFit& f : fit_growth(two, {.usual = Seconds{mean}, .tree = 0, .line = 0}))
    if (f.growth == Growth::Logarithm) return f;
  return {};
}

TEST(OverSizes, ErrorsThatTellNothingLeaveThePrior) {
  constexpr double kMean = 1e-4;
  constexpr double kChance = 0.46 / 0.96;
  double slope = 0;
  double share = 0;
  for (double errors = 1; errors < 2e8; errors *= 1.25) {
    const GrowthFit f = told_by_the_prior(errors, kMean);
    EXPECT_GT(f.slope.count(), slope * (1 - 1e-12)) << errors;
    EXPECT_GT(f.share, share * (1 - 1e-12)) << errors;
    slope = f.slope.count();
    share = f.share;
    EXPECT_NEAR(slope / kMean, 1, 2 / (errors * errors) + 1e-12) << errors;
    EXPECT_NEAR(share / kChance, 1, 1 / (errors * errors) + 1e-12) << errors;
  }
}

TEST(OverSizes, WhereTheTailIsFarTheFitGoesOn) {
  const GrowthFit near = told_by_the_prior(8 - 1e-9, 1e-4);
  const GrowthFit far = told_by_the_prior(8 + 1e-9, 1e-4);
  EXPECT_NEAR(far.slope / near.slope, 1, 1e-6);
  EXPECT_NEAR(far.share / near.share, 1, 1e-6);
}

TEST(OverSizes, NothingShrinks) {
  const auto fits = fit_growth(times([](double n) { return 10 - 0.2 * n; }, {4, 8, 16}, 0.01), kBelief);
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
