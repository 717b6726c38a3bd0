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
