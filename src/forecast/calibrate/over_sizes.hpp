// SPDX-License-Identifier: Apache-2.0
/// \file
/// How a time of several samples goes on with their sizes.
#pragma once

#include <cstdint>
#include <vector>

#include "forecast/calibrate/parts.hpp"

namespace cox::forecast {

/// A time at a size, with its standard error.
struct SizedTime {
  std::int64_t ranks = 0;
  Seconds value{};
  Seconds error{};
};

/// One time a size, ascending: the mean of those that have it. Its error is theirs, or what they differ by where that is more.
/// Held by: OverSizes.RunsOfOneSizeAreOneTime
[[nodiscard]] std::vector<SizedTime> merged_by_size(const std::vector<SizedTime>& times);

/// The laws of growth, best first: by how far each, fitted to the smaller sizes, misses the largest. Not growing is best where it
/// misses by no more than two standard errors. Of two sizes each growing law goes through both, and none can be told from the
/// other. `times` ascend by size; empty for one size.
/// Held by: src/forecast/calibrate/over_sizes_test.cpp
[[nodiscard]] std::vector<GrowthFit> fit_growth(const std::vector<SizedTime>& times);

/// g(N) of the law: 0 at `seen`.
[[nodiscard]] double growth_at(Growth growth, std::int64_t ranks, std::int64_t seen);

}  // namespace cox::forecast
