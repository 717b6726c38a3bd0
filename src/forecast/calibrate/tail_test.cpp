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

}  // namespace
}  // namespace cox::forecast
