// SPDX-License-Identifier: Apache-2.0
/// \file
/// Levels, trends and returns in a series of plain numbers (times over their median).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace cox::diagnose {

struct LevelRules {
  double least_shift = 0.10;
  std::size_t least_steps = 10;
  double least_posterior = 0.8;
  double prior = 0.01;  ///< that there is a change between two neighbouring levels
};

/// Two levels meet before index `at`.
struct LevelChange {
  std::size_t at = 0;
  std::size_t earliest = 0;  ///< of the 90 % of the posterior
  std::size_t latest = 0;
  double posterior = 0;
};

/// Where the usual value, which is positive, changes. Isolated outliers do not count: deviations are
/// absolute, levels are medians. Cost: O(n log n + 256^2 log 256).
[[nodiscard]] std::vector<LevelChange> find_levels(std::span<const double> values, const LevelRules& rules);

/// Line through the series by the median slope of block medians.
struct Trend {
  double begin = 0;  ///< value at the first index
  double end = 0;
  double chance = 1;  ///< of a trend this steady (Mann 1945, Kendall 1975), two-sided
  [[nodiscard]] double at(std::size_t i, std::size_t n) const {
    return n < 2 ? begin : begin + (end - begin) * static_cast<double>(i) / static_cast<double>(n - 1);
  }
};
[[nodiscard]] std::optional<Trend> find_trend(std::span<const double> values);

/// Sum of absolute deviations from the median of each level, and from a line.
[[nodiscard]] double cost_of_levels(std::span<const double> values, const std::vector<LevelChange>& changes);
[[nodiscard]] double cost_of_trend(std::span<const double> values, const Trend& trend);

/// Points that come back after about the same distance.
struct Return {
  double length = 0;
  double shortest = 0;
  double longest = 0;
  double fits = 0;
  double chance = 1;
};
/// `at` ascending. At least four points; gaps may be several periods where one was missed.
[[nodiscard]] std::optional<Return> find_return(std::span<const double> at);

}  // namespace cox::diagnose
