// SPDX-License-Identifier: Apache-2.0
#include "forecast/calibrate/tail.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cox/base/random.hpp"

namespace cox::forecast {
namespace {

std::vector<double> drawn(const Law& law, std::size_t n, std::uint64_t seed) {
  std::vector<double> out(n);
  RandomStream(seed, 3).uniforms(0, 0, out);
  for (double& u : out) u = law.upper_quantile(u).count();
  return out;
}

Law pareto_law(double shape, double scale) {
  return Law::quantiles({},
                        {.threshold = Seconds{0}, .scale = Seconds{scale}, .shape = shape, .probability = 1});
}

TEST(Tail, ShapeAndScaleComeBackWithinTheirErrors) {
  for (const double shape : {-0.2, 0.0, 0.2, 0.5}) {
    double mean = 0;
    double square = 0;
    double scale = 0;
    constexpr int kSets = 60;
    constexpr int kDraws = 400;
    for (int set = 0; set < kSets; ++set) {
      const ParetoFit fit =
          fit_pareto(drawn(pareto_law(shape, 2), kDraws, 100 + static_cast<std::uint64_t>(set)));
      mean += fit.shape / kSets;
      square += fit.shape * fit.shape / kSets;
      scale += fit.scale / kSets;
    }
    const double error = (1 + shape) / std::sqrt(kDraws);
    EXPECT_NEAR(mean, shape, 4 * error / std::sqrt(kSets) + 0.01) << shape;  // biased by -0.01 at 400
    EXPECT_NEAR(std::sqrt(square - mean * mean), error, 0.4 * error) << shape;
    EXPECT_NEAR(scale, 2, 0.05) << shape;
  }
}

// Of 50 exceedances likelihood alone is 0.05 to 0.06 below the shape of either law, on average over many samples.
TEST(Tail, ManySmallSamplesAreRightOnAverage) {
  constexpr int kSets = 400;
  for (const double shape : {0.0, 0.25}) {
    double told = 0;
    double likely = 0;
    for (int set = 0; set < kSets; ++set) {
      std::vector<double> draws = drawn(pareto_law(shape, 2), 5'000, 700 + static_cast<std::uint64_t>(set));
      std::sort(draws.begin(), draws.end());
      const std::vector<TailFit> fits = fit_tails(draws, 1);
      ASSERT_EQ(fits.front().exceedances, 50);
      told += fits.front().tail.shape / kSets;
      std::vector<double> excesses(draws.end() - 50, draws.end());
      for (double& x : excesses) x -= draws[draws.size() - 51];
      likely += fit_pareto(excesses).shape / kSets;
    }
    const double error = (1 + shape) / std::sqrt(50.0 * kSets);
    EXPECT_NEAR(told, shape, 3 * error) << shape;
    EXPECT_LT(likely, shape - 3 * error) << shape;
  }
}

// A law of the smaller, more frequent times and of the detours at once would have no mean (shape above 1).
TEST(Tail, OfRareDetoursIsThatOfTheDetours) {
  for (const std::uint64_t seed : {3, 4, 5, 6}) {
    std::vector<double> draws = drawn(Law::normal(Seconds{0}, Seconds{1}), 4'800, seed);
    const std::vector<double> detours = drawn(Law::exponential(Seconds{40}), 96, seed + 10);
    for (std::size_t i = 0; i < detours.size(); ++i) draws[50 * i] += detours[i];
    std::sort(draws.begin(), draws.end());
    const std::vector<TailFit> fits = fit_tails(draws, 1);
    ASSERT_EQ(fits.size(), 1U);
    EXPECT_LE(fits.front().tail.probability, 0.02);
    EXPECT_NEAR(fits.front().tail.shape, 0, 0.4);
  }
}

TEST(Tail, AnotherUnitChangesTheScaleAlone) {
  std::vector<double> draws = drawn(pareto_law(0.2, 2), 500, 9);
  const ParetoFit seconds = fit_pareto(draws);
  for (double& x : draws) x *= 1e-3;
  const ParetoFit milli = fit_pareto(draws);
  EXPECT_NEAR(milli.shape, seconds.shape, 1e-9);
  EXPECT_NEAR(milli.scale / seconds.scale, 1e-3, 1e-12);
}

TEST(Tail, IsFittedWhereThereAreFiftyIndependentExceedances) {
  std::vector<double> draws = drawn(Law::exponential(Seconds{1}), 10'000, 4);
  std::sort(draws.begin(), draws.end());
  EXPECT_EQ(fit_tails(draws, 1).size(), 3U);    // 30, 100 and 300
  EXPECT_EQ(fit_tails(draws, 0.2).size(), 2U);  // 6, 20 and 60
  EXPECT_EQ(fit_tails(draws, 0.05).size(), 1U);
  for (const TailFit& fit : fit_tails(draws, 1)) {
    EXPECT_LT(fit.distance, 0.03);  // Anderson, Darling: 2.5 per sample at 5 %, of 100 and 300
    EXPECT_NEAR(fit.tail.shape, 0, 0.3);
  }
}

TEST(Tail, AnExponentialOneIsTakenWhereNoneWasFitted) {
  std::vector<double> draws = drawn(Law::exponential(Seconds{1}), 500, 4);
  std::sort(draws.begin(), draws.end());
  const Law law = body_and_tail(draws, std::vector<TailFit>{});
  EXPECT_NEAR(law.upper_quantile(1e-6).count(), std::log(1e6), 2.5);
  EXPECT_TRUE(body_and_tail(std::vector<double>(9, 2.0), std::vector<TailFit>{}).is_constant());
}

TEST(Tail, AGapIsFoundWhereAModeIsApartAndNowhereElse) {
  const Law body = Law::normal(Seconds{0}, Seconds{1});
  for (const double by : {10.0, 30.0, 50.0})
    for (const double share : {0.05, 0.01, 0.002}) {
      std::vector<double> draws = drawn(body, 20'000, 5);
      const auto longer = static_cast<std::size_t>(share * 20'000);
      for (std::size_t i = 0; i < longer; ++i) draws[i] += by;
      std::sort(draws.begin(), draws.end());
      const auto gap = gap_in(draws);
      ASSERT_TRUE(gap) << by << " " << share;
      EXPECT_EQ(draws.size() - *gap, longer);
    }
  int found = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed)
    for (const Law& law :
         {body, Law::exponential(Seconds{1}), Law::lognormal(Seconds{1}, 1), Law::pareto(Seconds{1}, 1.5),
          Law::weibull(Seconds{1}, 0.6), pareto_law(-0.4, 1)}) {
      std::vector<double> draws = drawn(law, 3000, 100 + seed);
      std::sort(draws.begin(), draws.end());
      found += gap_in(draws) ? 1 : 0;
      for (double& x : draws) x = std::round(4 * x) / 4;  // a clock of a quarter
      found += gap_in(draws) ? 1 : 0;
    }
  EXPECT_LE(found, 3) << "of 720";
}

TEST(Tail, EachOfTwoModesHasATailOfItsOwn) {
  std::vector<double> draws = drawn(Law::normal(Seconds{0}, Seconds{1}), 64'000, 5);
  for (std::size_t i = 0; i < 640; ++i) draws[i] += 30;
  std::sort(draws.begin(), draws.end());
  const TailedLaw law = tailed_law(draws, 1);
  EXPECT_NEAR(law.probability, 0.01, 1e-12);
  EXPECT_NEAR(law.law.above(Seconds{15}), 0.01, 1e-12);
  EXPECT_NEAR(law.law.mean().count(), 0.3, 0.02);
  EXPECT_LT(law.shape.high, 0.3);
  // 1 of 10,000 of the longer ones is 3.72 deviations above their middle.
  EXPECT_NEAR(law.law.upper_quantile(1e-6).count(), 33.7, 1);
}

}  // namespace
}  // namespace cox::forecast
