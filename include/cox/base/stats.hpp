// SPDX-License-Identifier: Apache-2.0
/// \file
/// Robust statistics of samples. Plain numbers in, plain numbers out: callers keep the unit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cox {

/// Quantile by linear interpolation between order statistics (Hyndman, Fan 1996, type 7).
///
/// `q` is clamped to [0, 1] (NaN counts as 0); an empty sample gives 0. No value may be NaN. Reorders
/// `sample`. Cost: O(n). Held by: src/base/stats_test.cpp
[[nodiscard]] double quantile_in_place(std::span<double> sample, double q);
[[nodiscard]] double median_in_place(std::span<double> sample);
/// As above on a copy.
[[nodiscard]] double median(std::span<const double> sample);
[[nodiscard]] double quantile(std::span<const double> sample, double q);

/// Median absolute deviation from the median, times 1.4826, so that it estimates sigma of a normal sample.
/// Source: Rousseeuw, Croux 1993. Held by: src/base/stats_test.cpp
[[nodiscard]] double scaled_mad(std::span<const double> sample);

/// Mean and variance in one pass without cancellation.
/// Source: Welford 1962; merge after Chan, Golub, LeVeque 1979. Held by: src/base/stats_test.cpp
class Welford {
 public:
  void add(double x) {
    ++count_;
    const double delta = x - mean_;
    mean_ += delta / static_cast<double>(count_);
    m2_ += delta * (x - mean_);
  }
  void merge(const Welford& other);
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] double mean() const { return mean_; }
  /// Sample variance (n - 1); 0 for fewer than two samples.
  [[nodiscard]] double variance() const;
  [[nodiscard]] double stddev() const;
  /// Coefficient of variation: stddev over mean; 0 where the mean is 0.
  [[nodiscard]] double cv() const;

 private:
  std::int64_t count_ = 0;
  double mean_ = 0;
  double m2_ = 0;
};

/// Probability of at least `successes` in `trials` independent attempts that succeed with probability `p`
/// each: the upper tail of the binomial distribution. Formula: sum over k >= successes of C(n,k) p^k
/// (1-p)^(n-k), in logarithms. Cost: O(trials). Held by: src/base/stats_test.cpp
[[nodiscard]] double binomial_upper_tail(std::int64_t successes, std::int64_t trials, double p);

/// Student's distribution with `freedom` degrees of freedom: probability of more than `t`, and the value that
/// is exceeded with probability `tail`. Source: Abramowitz, Stegun 1964, 26.7.3 and 26.7.4; the value by
/// bisection. Error: 1e-15 absolute (so tails below it are noise). Pre: freedom >= 1, 0 < tail < 1. Cost:
/// O(freedom). Held by: src/base/stats_test.cpp
[[nodiscard]] double student_upper_tail(double t, std::int64_t freedom);
[[nodiscard]] double student_quantile(double tail, std::int64_t freedom);

/// Half of the interval of a mean that leaves out `tail` on either side: quantile x stddev / sqrt(n). Infinite for fewer
/// than two values. Held by: src/base/stats_test.cpp
[[nodiscard]] double student_half_width(const Welford& values, double tail);

}  // namespace cox
