// SPDX-License-Identifier: Apache-2.0
/// \file
/// The parts of what figures tell.
#pragma once

#include <vector>

#include "diagnose/figures/figures.hpp"

namespace cox::diagnose {

/// Fewer sizes are neither a line nor compared.
inline constexpr std::size_t kLeastSizes = 4;

/// The repetitions of one size.
struct SizePoint {
  double size = 0;     ///< bytes
  double time = 0;     ///< median, in the table's unit
  double scatter = 0;  ///< standard error over the time; 0 = not told
  std::int64_t repeats = 0;
};
[[nodiscard]] std::vector<SizePoint> points_of(const trace::SizeSeries& s);

[[nodiscard]] std::vector<SizeAnswer> answer_sizes(const trace::SizeTable& table);
/// Every series against the first with as many nodes, or against the one of its name in `before`.
[[nodiscard]] std::vector<SizeComparison> compare_series(const trace::SizeTable& table,
                                                         const trace::SizeTable* before);
/// Where configurations that were compared on one node and on several differ.
[[nodiscard]] std::vector<PlaceAnswer> find_places(const std::vector<SizeComparison>& comparisons);
[[nodiscard]] std::vector<QuantityAnswer> answer_ranks(const trace::RankTable& table);
/// Quantities that both have, by name.
[[nodiscard]] std::vector<RankComparison> compare_ranks(const trace::RankTable& before,
                                                        const trace::RankTable& after);

}  // namespace cox::diagnose
