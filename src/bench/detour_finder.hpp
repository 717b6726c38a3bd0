// SPDX-License-Identifier: Apache-2.0
/// \file
/// Finding detours in readings of a clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/bench/noise.hpp"

namespace cox::bench {

/// Finds detours in readings that come one at a time, so that a long measurement needs no memory for them.
/// Units: ticks are whatever the clock counts in. Cost: O(1) per reading. Held by: src/bench/noise_test.cpp
class DetourFinder {
 public:
  /// Gaps of at least `threshold` ticks are detours; at most `most` are kept.
  explicit DetourFinder(std::int64_t threshold, std::size_t most = std::numeric_limits<std::size_t>::max());
  /// A reading; one that is before the last (a clock set back) begins anew.
  /// False once nothing more can be kept.
  bool see(std::int64_t tick) {
    const std::int64_t gap = tick - last_;
    if (gap < threshold_ && gap >= shortest_) [[likely]] {
      last_ = tick;
      return true;
    }
    return see_unusual(tick);
  }
  /// The trace so far; `per_tick` is the clock's unit.
  [[nodiscard]] DetourTrace trace(Seconds per_tick) const;

 private:
  struct Gap {
    std::int64_t at;
    std::int64_t length;
  };
  bool see_unusual(std::int64_t tick);

  std::int64_t threshold_;
  std::size_t most_;
  std::int64_t first_ = 0;
  std::int64_t last_ = 0;
  std::int64_t shortest_ = std::numeric_limits<std::int64_t>::max();
  bool begun_ = false;
  bool full_ = false;
  std::vector<Gap> gaps_;
};

/// The same for a series that is there as a whole.
[[nodiscard]] DetourTrace detect_detours(std::span<const std::int64_t> ticks, Seconds per_tick,
                                         Seconds threshold);

}  // namespace cox::bench
