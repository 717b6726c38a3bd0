// SPDX-License-Identifier: Apache-2.0
#include "cox/base/stats.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace cox {
namespace {

TEST(Quantile, InterpolatesLikeType7) {
  const std::vector<double> s{4, 1, 3, 2};
  EXPECT_DOUBLE_EQ(quantile(s, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(s, 1), 4);
  EXPECT_DOUBLE_EQ(quantile(s, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(quantile(s, 0.25), 1.75);
  EXPECT_DOUBLE_EQ(quantile(s, 0.9), 3.7);
}

TEST(Quantile, EdgesAreDefined) {
  EXPECT_EQ(quantile({}, 0.5), 0);
  EXPECT_EQ(median(std::vector<double>{7}), 7);
  const std::vector<double> s{1, 2, 3};
  EXPECT_EQ(quantile(s, -1), 1);
  EXPECT_EQ(quantile(s, 2), 3);
  EXPECT_EQ(quantile(s, std::numeric_limits<double>::quiet_NaN()), 1);
}

TEST(Quantile, InPlaceKeepsTheSample) {
  std::vector<double> s{5, 1, 4};
  EXPECT_EQ(median_in_place(s), 4);
  double sum = 0;
  for (const double x : s) sum += x;
  EXPECT_EQ(sum, 10);
}

TEST(ScaledMad, EstimatesSigmaOfANormalSample) {
  // Standard normal quantiles at (i - 0.5) / n stand for a large sample.
  std::vector<double> s;
  for (int i = 0; i < 1000; ++i) {
    const double p = (i + 0.5) / 1000;
    double low = -10;
    double high = 10;
    for (int k = 0; k < 60; ++k) {
      const double mid = (low + high) / 2;
      (0.5 * std::erfc(-mid / std::sqrt(2.0)) < p ? low : high) = mid;
    }
    s.push_back(3 * low + 100);
  }
  EXPECT_NEAR(scaled_mad(s), 3, 0.01);
  s[0] = 1e9;  // one outlier moves it by next to nothing
  EXPECT_NEAR(scaled_mad(s), 3, 0.02);
}

TEST(ScaledMad, ConstantAndEmptyAreZero) {
  EXPECT_EQ(scaled_mad({}), 0);
  EXPECT_EQ(scaled_mad(std::vector<double>{2, 2, 2}), 0);
}

TEST(Welford, KnowsMeanAndSampleVariance) {
  Welford w;
  for (const double x : {2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0}) w.add(x);
  EXPECT_EQ(w.count(), 8);
  EXPECT_DOUBLE_EQ(w.mean(), 5);
  EXPECT_DOUBLE_EQ(w.variance(), 32.0 / 7);
  EXPECT_DOUBLE_EQ(w.cv(), std::sqrt(32.0 / 7) / 5);
}

TEST(Welford, DoesNotCancelAtALargeOffset) {
  Welford w;
  for (const double x : {4.0, 7.0, 13.0, 16.0}) w.add(1e9 + x);
  EXPECT_NEAR(w.variance(), 30, 1e-6);
}

TEST(Welford, FewSamplesHaveNoSpread) {
  Welford w;
  EXPECT_EQ(w.variance(), 0);
  EXPECT_EQ(w.cv(), 0);
  w.add(3);
  EXPECT_EQ(w.mean(), 3);
  EXPECT_EQ(w.variance(), 0);
}

TEST(Welford, MergeWithNothingChangesNothing) {
  Welford a;
  a.add(1);
  a.add(3);
  a.merge(Welford{});
  EXPECT_EQ(a.count(), 2);
  Welford b;
  b.merge(a);
  EXPECT_EQ(b.mean(), 2);
  EXPECT_EQ(b.variance(), 2);
}

TEST(BinomialUpperTail, MatchesSmallCasesByHand) {
  EXPECT_NEAR(binomial_upper_tail(1, 1, 0.3), 0.3, 1e-12);
  EXPECT_NEAR(binomial_upper_tail(2, 3, 0.5), 0.5, 1e-12);
  EXPECT_NEAR(binomial_upper_tail(10, 10, 0.5), 1.0 / 1024, 1e-15);
  EXPECT_NEAR(binomial_upper_tail(1, 4, 0.25), 1 - std::pow(0.75, 4), 1e-12);
}

TEST(BinomialUpperTail, EdgesAreDefined) {
  EXPECT_EQ(binomial_upper_tail(0, 5, 0.1), 1);
  EXPECT_EQ(binomial_upper_tail(6, 5, 0.1), 0);
  EXPECT_EQ(binomial_upper_tail(1, 5, 0), 0);
  EXPECT_EQ(binomial_upper_tail(5, 5, 1), 1);
}

TEST(BinomialUpperTail, StaysFiniteForManyTrials) {
  const double half = binomial_upper_tail(5000, 10000, 0.5);
  EXPECT_NEAR(half, 0.503989, 1e-5);
  EXPECT_GT(binomial_upper_tail(9000, 10000, 0.5), -1e-300);
  EXPECT_LT(binomial_upper_tail(9000, 10000, 0.5), 1e-300);
}

// Student's table: Abramowitz, Stegun 1964, table 26.10.
TEST(Student, AgreesWithTheTable) {
  EXPECT_NEAR(student_quantile(0.025, 1), 12.706, 5e-4);
  EXPECT_NEAR(student_quantile(0.025, 2), 4.303, 5e-4);
  EXPECT_NEAR(student_quantile(0.05, 3), 2.353, 5e-4);
  EXPECT_NEAR(student_quantile(0.025, 5), 2.571, 5e-4);
  EXPECT_NEAR(student_quantile(0.005, 10), 3.169, 5e-4);
  EXPECT_NEAR(student_quantile(0.025, 120), 1.980, 5e-4);
  EXPECT_NEAR(student_quantile(0.025, 29), 2.045, 5e-4);
  EXPECT_NEAR(student_quantile(0.025, 60), 2.000298, 2e-6);
  EXPECT_NEAR(student_quantile(0.025, 999), 1.962, 5e-4);
}

TEST(Student, TailsAreThoseOfTheClosedForms) {
  // One degree: Cauchy; two: 1/2 - t / (2 sqrt(2 + t^2)).
  for (const double t : {0.0, 0.3, 1.0, 4.0, 50.0}) {
    EXPECT_NEAR(student_upper_tail(t, 1), 0.5 - std::atan(t) / std::numbers::pi, 1e-14);
    EXPECT_NEAR(student_upper_tail(t, 2), 0.5 - t / (2 * std::sqrt(2 + t * t)), 1e-14);
    for (const std::int64_t freedom : {1, 2, 3, 8, 31})
      EXPECT_NEAR(student_upper_tail(t, freedom) + student_upper_tail(-t, freedom), 1, 1e-14);
  }
  for (const std::int64_t freedom : {1, 2, 3, 4, 7, 40})
    for (const double tail : {0.4, 0.1, 0.01, 1e-4})
      EXPECT_NEAR(student_upper_tail(student_quantile(tail, freedom), freedom), tail, 1e-12);
  for (const std::int64_t freedom : {1, 2, 3, 8, 31, 60, 100})
    for (double t = 1; t < 1e8; t *= 1.1) EXPECT_GE(student_upper_tail(t, freedom), 0) << t;
  EXPECT_EQ(student_upper_tail(INFINITY, 5), 0);
}

TEST(Student, HalfWidthOfAMean) {
  Welford w;
  for (const double x : {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}) w.add(x);  // sd sqrt(3.5)
  EXPECT_NEAR(student_half_width(w, 0.025), 2.5706 * std::sqrt(3.5 / 6), 5e-4);
  Welford one;
  one.add(3);
  EXPECT_TRUE(std::isinf(student_half_width(one, 0.025)));
}

}  // namespace
}  // namespace cox
