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
  double least_shift = 0.01;  ///< however little noise there is
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

/// A lasting change in the middle of values of one level that `find_levels` would find in nearly all cases, as a part
/// of the level.
[[nodiscard]] double least_shift(std::span<const double> values, const LevelRules& rules);

/// Part of the values, 0 to 1, that count as independent around `center`: neighbours on one side of it do not.
[[nodiscard]] double independent_share(std::span<const double> values, double center);

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

/// Many of the points in a small part of the series.
struct Crowd {
  std::size_t first = 0;  ///< index of the series
  std::size_t last = 0;
  std::int64_t count = 0;
  double chance = 1;  ///< of so many so near each other, wherever
};
/// `at`: ascending indices below `n`. A crowd is at least five, in less than a third of the series.
[[nodiscard]] std::vector<Crowd> find_crowds(std::span<const std::size_t> at, std::size_t n);

/// Every n-th value is higher by a little.
struct FixedPhase {
  std::int64_t period = 0;
  std::int64_t phase = 0;  ///< number modulo period
  std::int64_t count = 0;
  double over = 0;  ///< median there over median elsewhere, less one
  double chance = 1;
};
/// `values`: not negative. `numbers`: ascending, as many as values. Periods 2 to 256, at least twelve times each.
[[nodiscard]] std::optional<FixedPhase> find_phase(std::span<const double> values,
                                                   std::span<const std::int64_t> numbers);

/// Values keep to some places and avoid what lies between them.
struct Modes {
  std::vector<double> places;   ///< ascending; two or more
  std::vector<double> borders;  ///< between neighbours, one less
  std::vector<double> shares;   ///< of the values
  double chance = 1;            ///< of so few between in values of fewer places

  /// Which place a value belongs to.
  [[nodiscard]] std::size_t of(double value) const {
    std::size_t at = 0;
    while (at < borders.size() && value > borders[at]) ++at;
    return at;
  }
};
/// As many places as the values tell, up to four. Also where that is not quite sure: `chance` up to 0.05.
[[nodiscard]] std::optional<Modes> find_modes(std::span<const double> values);

}  // namespace cox::diagnose
