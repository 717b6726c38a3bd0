// SPDX-License-Identifier: Apache-2.0
/// \file
/// How far a median over steps may be off by chance, where one step says something of the next one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cox/base/stats.hpp"
#include "cox/base/units.hpp"

namespace cox::diagnose {

struct Scatter {
  double center = 0;  ///< median
  double spread = 0;  ///< of values (block medians of long series) about it, scaled MAD
  /// sum of the correlations with all neighbours: as many values tell as much as one
  double correlation = 1;
  double independent = 0;  ///< values, over `correlation`
  std::size_t levels = 1;  ///< that were taken from the values first
  double resolution = 0;   ///< of the times that the values come from
  /// Standard error of the median of a stretch that is this part of the series. Formula: that of a normal sample, and
  /// resolution / sqrt(6), which no number of steps takes away: the error of a difference of two values that are rounded.
  [[nodiscard]] double error(double part = 1) const;
  [[nodiscard]] std::int64_t freedom() const;
};

/// Neighbours' correlations are summed while pairs of them are positive, of values that are cut at 2.5 spreads, so
/// that a change of level within the series is no correlation without end; no less than a first-order
/// autoregression would have. Both are raised by what estimates from short series lack.
/// Source: Geyer 1992 (initial positive sequence); Marriott, Pope 1954 (bias).
/// `levels`: the values are what is left of so many stretches after each one's own median was taken off; where one is much
/// longer than the others, less is found independent than is.
/// `resolution`: what the values are multiples of, as `resolution_of`; the spread is no less than rounding makes it.
/// Cost: O(n), long series by their block medians. Held by: src/diagnose/naming/scatter_test.cpp
[[nodiscard]] Scatter scatter_of(std::span<const double> values, std::size_t levels = 1,
                                 double resolution = 0);

/// How far a row of `delays` ([row][step]) is in each step beyond the median of the other rows, as part of a `step`. Rows
/// that are `late` as well do not count among the others. Where there are many rows: its delay.
[[nodiscard]] std::vector<double> beyond_others(std::span<const std::vector<Duration>> delays, Duration step,
                                                std::size_t row, const std::vector<std::size_t>& late = {});

/// Probability that scatter alone makes a median of that height, `part` as above.
[[nodiscard]] double chance_of_level(double height, const Scatter& scatter, double part = 1);

/// The same for a height with that standard error.
[[nodiscard]] double chance_of_height(double height, double error, std::int64_t freedom);

/// Standard error of one more value like these, and of their mean, where times have that resolution.
[[nodiscard]] double error_of_one_more(const Welford& values, double resolution);

/// The height that has this probability.
[[nodiscard]] double level_by_chance(double chance, const Scatter& scatter);

}  // namespace cox::diagnose
