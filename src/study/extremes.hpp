// SPDX-License-Identifier: Apache-2.0
/// \file
/// The slowest of N by exact laws: oracles of what is sampled.
#pragma once

namespace cox::study {

/// E[max of n] over the mean for a lognormal law of coefficient of variation `cv`.
/// Formula: integral of n phi(z) Phi(z)^(n-1) exp(sigma z - sigma^2 / 2) dz, sigma^2 = ln(1 + cv^2),
/// by Simpson's rule over [-8, 14]. Error: below 1e-9 for n <= 10^5, cv <= 1.
/// Held by: src/study/extremes_test.cpp
[[nodiscard]] double lognormal_maximum(int n, double cv);

/// E[max of n] over the mean for a Pareto law. `shape` > 1 (asserted): else there is no mean.
/// Formula: product over k = 1..n of k / (k - 1/shape), times (shape - 1) / shape.
/// Source: moments of the largest order statistic, Gamma(n + 1) Gamma(1 - 1/a) / Gamma(n + 1 - 1/a) scales
/// (Arnold, Pareto Distributions, 1983).
[[nodiscard]] double pareto_maximum(int n, double shape);

/// Largest k such that ranks n/2 -+ k of a sorted sample of n enclose its law's median with 95 % (normal
/// approximation of the binomial), at least 1.
[[nodiscard]] int median_rank_half_width(int n);

}  // namespace cox::study
