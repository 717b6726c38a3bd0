// SPDX-License-Identifier: Apache-2.0
/// \file
/// When a barrier opens whose workers' times are lognormal with mean 1 and share delays, are dropped or doubled:
/// exact laws, by quadrature.
#pragma once

#include <cstddef>
#include <vector>

namespace cox::study {

/// Groups of workers that are late together.
struct DelayedGroups {
  int groups = 1;
  int workers = 1;         ///< of each
  double delay = 0;        ///< of all workers of a group, in means of one worker
  double probability = 1;  ///< that a group has it, each on its own
};

/// The slowest of several kinds of groups.
///
/// Formula: G(x) = product over kinds of ((1 - q) F(x)^r + q F(x - d)^r)^g; mean = integral of 1 - G, by Simpson's
/// rule over ln x. Error of the mean: below 1e-6 for cv <= 1. Cost: 0.3 ms. Held by:
/// src/study/oracle/slowest_test.cpp (against `lognormal_maximum` and draws)
class DelayedMaximum {
 public:
  /// Pre: cv > 0, at least one kind, delays >= 0 (asserted).
  DelayedMaximum(double cv, std::vector<DelayedGroups> kinds);
  [[nodiscard]] double mean() const;
  /// The probability that the slowest takes longer than `x` means.
  [[nodiscard]] double above(double x) const;
  /// By bisection, to 1e-12.
  [[nodiscard]] double quantile(double p) const;
  /// The probability that the slowest is a worker of kind `kind`.
  [[nodiscard]] double slowest_is_of(std::size_t kind) const;

 private:
  [[nodiscard]] double below(std::size_t kind, double x) const;
  double sigma_;
  std::vector<DelayedGroups> kinds_;
};

/// Mean of the slowest of n lognormal workers once the `dropped` slowest are left out.
/// Formula: P(X <= x) = sum over j <= dropped of C(n, j) (1 - F)^j F^(n - j). Pre: 0 <= dropped < n, cv > 0.
/// Held by: src/study/oracle/slowest_test.cpp (n = 3 by hand; sums over all ranks)
[[nodiscard]] double lognormal_without_slowest(int n, double cv, int dropped);

/// Mean of the slowest of n workers, each of which is the quickest of `copies` that do the same.
/// Formula: F(x) becomes 1 - (1 - F(x))^copies. Held by: src/study/oracle/slowest_test.cpp
[[nodiscard]] double lognormal_maximum_of_copies(int n, double cv, int copies);

/// The probability that a lognormal time is more than `deviations` standard deviations above its mean, over that
/// of a normal one. Held by: src/study/oracle/slowest_test.cpp
[[nodiscard]] double lognormal_over_normal_beyond(double cv, double deviations);

}  // namespace cox::study
