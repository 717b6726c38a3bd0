// SPDX-License-Identifier: Apache-2.0
/// \file
/// The slowest of n independent nodes by exact laws: oracles of what is sampled, and how its coefficient of
/// variation goes with n, whatever the law.
#pragma once

#include <cstdint>

namespace cox::study {

/// Mean and standard deviation of a maximum, in units of the single law's mean.
struct MaximumMoments {
  double mean = 0;
  double deviation = 0;
  [[nodiscard]] double cv() const { return deviation / mean; }
};

/// Exponential law. Formula: mean H_n = sum 1/k, variance sum 1/k^2 (Renyi 1953: the gaps of order statistics
/// are independent), so the CV falls as 1.28 / ln n. Held by: src/study/oracle/extremes_test.cpp, all
[[nodiscard]] MaximumMoments exponential_maximum(int n);
/// Normal law with mean 1. Formula: moments of n phi Phi^(n-1) by Simpson's rule over [-8, 14].
[[nodiscard]] MaximumMoments normal_maximum(int n, double cv);
/// Lognormal law with mean 1, likewise; sigma^2 = ln(1 + cv^2). Error of the mean: below 1e-9 for n <= 10^5,
/// cv <= 1.
[[nodiscard]] MaximumMoments lognormal_maximum(int n, double cv);
/// Its median. Formula: exp(sigma Phi^-1(2^(-1/n)) - sigma^2 / 2), since P(M <= m) = F(m)^n.
[[nodiscard]] double lognormal_maximum_median(int n, double cv);
/// The probability that one of n is longer than `factor` medians of the single law. Formula:
/// 1 - Phi(ln(factor) / sigma)^n.
[[nodiscard]] double lognormal_one_beyond(int n, double cv, double factor);
/// Pareto law with mean 1, `shape` > 2 (asserted). Formula: E[M^k] proportional to
/// Gamma(n + 1) Gamma(1 - k/a) / Gamma(n + 1 - k/a) (Arnold 1983), so the CV goes to the constant
/// sqrt(Gamma(1 - 2/a) / Gamma(1 - 1/a)^2 - 1).
[[nodiscard]] MaximumMoments pareto_maximum(int n, double shape);
[[nodiscard]] double pareto_cv_limit(double shape);
/// The mean alone, which is there for any `shape` > 1 (asserted).
[[nodiscard]] double pareto_maximum_mean(int n, double shape);

/// The largest CV that the slowest of `more` independent nodes can have, whatever the law, where the slowest
/// of `fewer` of them has mean and CV as given, and the mean of the larger job is known too.
///
/// Formula: sqrt(more / fewer) x cv x mean_fewer / mean_more: the maximum over `more` is the maximum
/// of more / fewer independent copies of the maximum over `fewer`, and Var(max of k) <= k Var(one),
/// because the variance of the sum of the order statistics is that of the plain sum and their covariances
/// are not negative (Bickel 1967, "Some contributions to the theory of order statistics").
/// `more` is a multiple of `fewer` (asserted).
[[nodiscard]] double largest_independent_cv(int fewer, double cv, double mean_fewer, int more,
                                            double mean_more);

/// Laws that are sampled beside their formulas: normal with CV 0.1, lognormal with CV 0.5, exponential.
enum class Jitter : std::uint8_t { Normal, Lognormal, Exponential };
/// The same from 20,000 draws of n each: the sampling error of the CV is about 1 %.
[[nodiscard]] MaximumMoments sampled_maximum(Jitter jitter, int n, std::uint64_t seed);

}  // namespace cox::study
