// SPDX-License-Identifier: Apache-2.0
#include "study/oracle/extremes.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>

#include "study/pacing_table/pacing_table.hpp"

namespace cox::study {
namespace {

using Law = MaximumMoments (*)(int);
constexpr std::array<Law, 4> kLight = {exponential_maximum, [](int n) { return normal_maximum(n, 0.1); },
                                       [](int n) { return lognormal_maximum(n, 0.2); },
                                       [](int n) { return lognormal_maximum(n, 0.5); }};

// Place: chapter-part3, C.2 (table) and section 7, oracle 8.
TEST(Extremes, LognormalByQuadrature) {
  EXPECT_NEAR(lognormal_maximum(256, 0.05).mean, 1.150, 1e-3);
  EXPECT_NEAR(lognormal_maximum(256, 0.10).mean, 1.320, 2e-3);
  EXPECT_NEAR(lognormal_maximum(256, 0.20).mean, 1.721, 2e-3);
  EXPECT_NEAR(lognormal_maximum(256, 0.30).mean, 2.214, 3e-3);
  EXPECT_NEAR(lognormal_maximum(256, 0.50).mean, 3.473, 2e-2);
  EXPECT_NEAR(lognormal_maximum(1, 0.3).mean, 1, 1e-9);
  EXPECT_NEAR(lognormal_maximum(100, 0).mean, 1, 1e-9);
  // chapter-part1, C.2: E[max] of a mean of 50 ms with sd 10 ms.
  EXPECT_NEAR(50 * lognormal_maximum(8, 0.2).mean, 65.4, 1.0);
  EXPECT_NEAR(50 * lognormal_maximum(1024, 0.2).mean, 93.1, 1.0);
}

TEST(Extremes, LognormalMedianAndLimits) {
  for (const double cv : {0.1, 0.5}) {
    EXPECT_NEAR(lognormal_maximum_median(1, cv), 1 / std::sqrt(1 + cv * cv), 1e-9);
    EXPECT_NEAR(lognormal_one_beyond(1, cv, 1), 0.5, 1e-9);
    // Of two: both below the median with a quarter.
    EXPECT_NEAR(lognormal_one_beyond(2, cv, 1), 0.75, 1e-9);
  }
  // chapter-part3, C.2: median over mean of the steps at a CV of 0.05.
  EXPECT_NEAR(lognormal_maximum_median(256, 0.05) / lognormal_maximum(256, 0.05).mean, 0.9976, 1e-4);
}

/// The largest of two lognormals has a mean of 2 Phi(sigma / sqrt 2) times that of one.
TEST(Extremes, LognormalOfTwo) {
  for (const double cv : {0.1, 0.3, 0.9}) {
    const double sigma = std::sqrt(std::log(1 + cv * cv));
    EXPECT_NEAR(lognormal_maximum(2, cv).mean, 1 + std::erf(sigma / 2), 1e-9);
  }
}

TEST(Extremes, ParetoByItsGammaRatio) {
  EXPECT_NEAR(pareto_maximum_mean(256, 1.5), 36.02, 0.01);
  EXPECT_DOUBLE_EQ(pareto_maximum_mean(1, 1.5), 1);
  EXPECT_NEAR(pareto_maximum_mean(2, 2), 4.0 / 3, 1e-12);  // 2 shape / (2 shape - 1)
}

TEST(Extremes, ExponentialByHand) {
  EXPECT_DOUBLE_EQ(exponential_maximum(1).cv(), 1);
  EXPECT_NEAR(exponential_maximum(4).mean, 25.0 / 12, 1e-14);
  EXPECT_NEAR(exponential_maximum(4).deviation, std::sqrt(205.0) / 12, 1e-14);
  // Gumbel's limit: deviation pi / sqrt(6), mean ln n + Euler's constant.
  const MaximumMoments many = exponential_maximum(100'000);
  EXPECT_NEAR(many.deviation, std::numbers::pi / std::sqrt(6), 1e-5);
  EXPECT_NEAR(many.mean, std::log(100'000) + std::numbers::egamma, 1e-5);
}

TEST(Extremes, NormalByHand) {
  const double pi = std::numbers::pi;
  EXPECT_NEAR(normal_maximum(1, 0.1).cv(), 0.1, 1e-9);
  EXPECT_NEAR(normal_maximum(2, 0.1).mean, 1 + 0.1 / std::sqrt(pi), 1e-9);
  EXPECT_NEAR(normal_maximum(2, 0.1).deviation, 0.1 * std::sqrt(1 - 1 / pi), 1e-8);
  EXPECT_NEAR(normal_maximum(3, 0.1).mean, 1 + 0.15 / std::sqrt(pi), 1e-9);
}

TEST(Extremes, LognormalAndParetoByTheirLimits) {
  EXPECT_NEAR(lognormal_maximum(1, 0.3).cv(), 0.3, 1e-8);
  EXPECT_NEAR(pareto_maximum(1, 3).cv(), 1 / std::sqrt(3.0), 1e-12);
  EXPECT_NEAR(pareto_maximum(64, 3).mean, pareto_maximum_mean(64, 3), 1e-9);
  EXPECT_NEAR(pareto_maximum(1'000'000, 4).cv(), pareto_cv_limit(4), 1e-5);
}

TEST(Extremes, LightTailsFallAndPowerTailsStay) {
  for (const Law law : kLight)
    for (int n = 2; n <= 64; n *= 2) EXPECT_LT(law(n).cv(), law(n / 2).cv()) << n;
  for (const double shape : {2.2, 2.5, 3.0, 5.0})
    EXPECT_LT(pareto_maximum(64, shape).cv() / pareto_maximum(4, shape).cv(), 1.1) << shape;
}

TEST(Extremes, DrawsAgreeWithFormulas) {
  for (const int n : {1, 4, 64}) {
    EXPECT_NEAR(sampled_maximum(Jitter::Exponential, n, 7).cv() / exponential_maximum(n).cv(), 1, 0.03) << n;
    EXPECT_NEAR(sampled_maximum(Jitter::Normal, n, 7).cv() / normal_maximum(n, 0.1).cv(), 1, 0.03) << n;
    EXPECT_NEAR(sampled_maximum(Jitter::Lognormal, n, 7).cv() / lognormal_maximum(n, 0.5).cv(), 1, 0.03) << n;
  }
}

TEST(Extremes, NoLawIsBeyondTheBoundAndWhatIsAlikeForAllIs) {
  const auto expect_within = [](const MaximumMoments& few, int fewer, const MaximumMoments& many, int more) {
    EXPECT_LE(many.cv(), largest_independent_cv(fewer, few.cv(), few.mean, more, many.mean) * (1 + 1e-9))
        << fewer << " to " << more;
  };
  for (int fewer = 1; fewer <= 32; fewer *= 2)
    for (int more = 2 * fewer; more <= 64; more *= 2) {
      for (const Law law : kLight) expect_within(law(fewer), fewer, law(more), more);
      for (const double shape : {2.01, 2.5, 4.0}) {
        MaximumMoments few = pareto_maximum(fewer, shape);
        MaximumMoments many = pareto_maximum(more, shape);
        expect_within(few, fewer, many, more);
        few.mean += 100;  // a constant part, where a power tail's CV grows
        many.mean += 200;
        expect_within(few, fewer, many, more);
      }
    }
  // compute 1, 0.1 per node, load with CV 0.3
  EXPECT_GT(0.3 * 6.4 / 7.4, largest_independent_cv(4, 0.3 * 0.4 / 1.4, 1.4, 64, 7.4));
}

// The smaller job's CV rounded up, the larger one's down: still beyond what independent nodes can do.
TEST(Extremes, ThePrintedBaselineIsBeyondTheBound) {
  for (std::size_t i = 0; i + 1 < kPaperTable.size(); ++i) {
    const TableRow& few = kPaperTable[i];
    const TableRow& many = kPaperTable[i + 1];
    EXPECT_LT(largest_independent_cv(few.nodes, few.baseline_cv + 0.005, few.nodes / few.baseline_rate,
                                     many.nodes, many.nodes / many.baseline_rate),
              many.baseline_cv - 0.005)
        << many.nodes;
  }
}

}  // namespace
}  // namespace cox::study
