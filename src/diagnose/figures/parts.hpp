// SPDX-License-Identifier: Apache-2.0
/// \file
/// The parts of what figures tell.
#pragma once

#include <string>
#include <vector>

#include "diagnose/figures/figures.hpp"

namespace cox::diagnose {

/// Fewer sizes are neither a line nor compared.
inline constexpr std::size_t kLeastSizes = 4;
/// A line that is so far off does not describe the times.
inline constexpr double kPoorFit = 0.25;

/// The repetitions of one size.
struct SizePoint {
  double size = 0;     ///< bytes
  double time = 0;     ///< median, in the table's unit
  double scatter = 0;  ///< standard error over the time; 0 = not told
  std::int64_t repeats = 0;
};
[[nodiscard]] std::vector<SizePoint> points_of(const trace::SizeSeries& s);
/// Whether they are one configuration in place and out of place.
[[nodiscard]] bool is_other_place(const trace::SizeSeries& a, const trace::SizeSeries& b);

/// What a value has to exceed, beside its chance.
struct OutlyingBar {
  double least_spread = 0;      ///< of a value, where more is known of it than the values show
  double least = 0;             ///< a difference worth saying
  std::int64_t parameters = 0;  ///< that were fitted to the values
  std::size_t family = 1;       ///< lists that are looked at together: the chance is of all of them
};
/// Which of the values leave the others, ascending: at most a fifth of them. Rosner's many-outlier procedure (each against
/// those that are nearer to the median, by Student's t, corrected for how many there are; chance 0.002 of normal noise)
/// and, beyond it, five and a half robust spreads. Of fewer than six values none. Cost: O(n^2).
/// Source: Rosner 1983. Held by: src/diagnose/figures/figures_test.cpp
[[nodiscard]] std::vector<std::size_t> outlying(const std::vector<double>& values, const OutlyingBar& bar);

/// A configuration as it is compared.
struct NamedPoints {
  std::string name;
  std::int64_t nodes = 0;
  std::vector<SizePoint> points;
};
[[nodiscard]] NamedPoints named_points_of(const trace::SizeSeries& s);

/// Comparisons that are made at once: the chance that any of them errs is to stay that of one.
struct Family {
  std::size_t count = 1;
  double scatter = 0;  ///< of the usual one: none has less, as few sizes tell their own badly
};
struct Compared {
  SizeComparison comparison;
  double strength = 0;  ///< 0: nothing stands out
};
[[nodiscard]] Compared compare_points(const NamedPoints& before, const NamedPoints& after,
                                      const Family& family);
[[nodiscard]] SizeComparison compare_two(const trace::SizeSeries& before, const trace::SizeSeries& after);
/// Of a ratio of two times, as repetitions and neighbours tell.
[[nodiscard]] double scatter_between(const std::vector<SizePoint>& before,
                                     const std::vector<SizePoint>& after);
/// Whether a series is one to hold `s` against, where no table from before is asked for.
[[nodiscard]] bool is_alike(const trace::SizeSeries& other, const trace::SizeSeries& s);

[[nodiscard]] std::vector<SizeAnswer> answer_sizes(const trace::SizeTable& table);
/// Every series against the first that measures the same on as many nodes, or against the one of its name in `before`;
/// in place against out of place, where the first is that.
[[nodiscard]] std::vector<SizeComparison> compare_series(const trace::SizeTable& table,
                                                         const trace::SizeTable* before);
/// Files of a folder: of two the second against the first, from three on each against the median of the others that
/// measure the same and are not set apart. In up to eight rounds those that differ most are set apart, one in a round and of
/// 32 files and more a sixteenth of all, until none differs or half are.
/// Held by: src/diagnose/figures/compare_files_test.cpp
[[nodiscard]] std::vector<SizeComparison> compare_files(const trace::SizeTable& table);
/// Where configurations that were compared on one node and on several differ.
[[nodiscard]] std::vector<PlaceAnswer> find_places(const std::vector<SizeComparison>& comparisons);
[[nodiscard]] std::vector<QuantityAnswer> answer_ranks(const trace::RankTable& table);
/// Quantities that both have, by name.
[[nodiscard]] std::vector<RankComparison> compare_ranks(const trace::RankTable& before,
                                                        const trace::RankTable& after);

}  // namespace cox::diagnose
