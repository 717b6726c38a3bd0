// SPDX-License-Identifier: Apache-2.0
/// \file
/// What takes the processor away from a program: detours, found by a loop
/// that does nothing but read the clock.
///
/// Source: the "selfish detour" benchmark (Beckman, Iskra, Yoshii, Coghlan 2006;
/// Hoefler, Schneider, Lumsdaine 2010).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"

namespace cox::bench {

/// One span in which the loop did not run.
struct Detour {
  Seconds at{};     ///< since the beginning of the measurement
  Seconds lasts{};  ///< gap between two readings, less the shortest one: what was taken away
  bool operator==(const Detour&) const = default;
};

/// What one core showed.
struct DetourTrace {
  int core = 0;
  Seconds length{};      ///< of the measurement
  Seconds resolution{};  ///< shortest gap between two readings: the loop itself
  Seconds threshold{};   ///< shorter gaps are not detours
  std::vector<Detour> detours{};
  bool full = false;  ///< there were more than were kept; `length` ends with the last one that was
};

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

/// Distribution of a core's detours. Intervals: of 20 equally long parts of the measurement, by Student's t.
struct NoiseSummary {
  int core = 0;
  std::int64_t count = 0;
  double per_second = 0;
  double per_second_half_width_95 = 0;
  Seconds median{};
  Seconds p99{};
  Seconds longest{};
  double share_ratio = 0;  ///< time in detours over all time
  double share_half_width_95 = 0;
};
[[nodiscard]] NoiseSummary summarize(const DetourTrace& trace);

/// Reads a clock in nanoseconds; never goes back.
using NanosecondClock = std::int64_t (*)();

struct NoiseOptions {
  std::vector<int> cores{};  ///< one thread each; empty = all that this process may use
  Seconds duration{10};
  Seconds threshold{1e-6};
  NanosecondClock clock = nullptr;  ///< null: CLOCK_MONOTONIC
};
/// Measures on all chosen cores at the same time; the traces are in the order of the cores.
/// Errors: bench-001 (a core that this process may not use). Threads: one per core, ended on return.
[[nodiscard]] Result<std::vector<DetourTrace>> measure_detours(const NoiseOptions& options);

/// The traces as a file for a Scenario's trace noise: `AT LASTS` a line, both with unit, the cores one after
/// another. Format: docs/reference/bench.md.
[[nodiscard]] std::string detours_text(std::span<const DetourTrace> traces);

/// The `[[noise]]` part of a Scenario that replays `detour_file`; what was measured is beside it as comments.
[[nodiscard]] std::string noise_part(std::span<const DetourTrace> traces, const std::string& host,
                                     const std::string& detour_file);

/// The same as a table for people.
[[nodiscard]] std::string noise_table(std::span<const DetourTrace> traces);

}  // namespace cox::bench
