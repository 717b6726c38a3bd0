// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ages of updates, as JSON and in words.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cox/base/json.hpp"
#include "cox/sync/ages.hpp"

namespace cox::learn {

/// The histogram: `from`, `to`, `updates` of ranges that double.
[[nodiscard]] Json age_ranges(const sync::AgeCounts& ages);
/// `updates`, `mean`, `p50`, `p99`, `largest`: an array each, one value for each worker.
[[nodiscard]] Json worker_ages(std::span<const sync::AgeCounts> workers);

/// The workers whose median is least and largest, among those with applied updates; the lower number where medians are equal.
struct MedianAges {
  int freshest = 0;
  int stalest = 0;
  std::int64_t least = 0;
  std::int64_t most = 0;
};
[[nodiscard]] MedianAges median_ages(std::span<const sync::AgeCounts> workers);

}  // namespace cox::learn
