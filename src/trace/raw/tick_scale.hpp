// SPDX-License-Identifier: Apache-2.0
/// \file
/// From a process's ticks to time: a line through its clock readings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cox/base/units.hpp"
#include "cox/trace/raw_format.hpp"

namespace cox::trace {

/// Exact multiplication in 128 bits; picoseconds and ticks both outgrow 64 bits on the way.
__extension__ typedef unsigned __int128 Uint128;  // NOLINT(modernize-use-using): needs __extension__
__extension__ typedef __int128 Int128;            // NOLINT(modernize-use-using)

/// Linear scale of one process. Times are spans from its reference, a reading early in the process's life.
///
/// Formula: t = (ticks - reference) * slope, slope from least squares over the header's clock pairs
///          where at least two of them span 10 ms, else from `ticks_per_second`. A monotonic clock
///          needs no fit: it is the time.
/// Units:   slope in 2^-40 picoseconds per tick, so whole nanosecond and picosecond ticks convert exactly.
/// Held by: src/trace/raw/tick_scale_test.cpp
class TickScale {
 public:
  /// `first_ticks` is used as the reference where the header holds no clock pair.
  [[nodiscard]] static TickScale from(const RawHeader& header, std::uint64_t first_ticks);

  /// Time from the reference; nothing for ticks that cannot belong to this process
  /// (a day before or 100 days after).
  [[nodiscard]] std::optional<Duration> at(std::uint64_t ticks) const {
    if (ticks >= reference_) {
      const Uint128 ps = (Uint128{ticks - reference_} * slope_) >> kShift;
      if (ps > kLatest) return std::nullopt;
      return Duration{static_cast<std::int64_t>(ps)};
    }
    const Uint128 ps = (Uint128{reference_ - ticks} * slope_) >> kShift;
    if (ps > kEarliest) return std::nullopt;
    return -Duration{static_cast<std::int64_t>(ps)};
  }

  /// Length of a span of ticks, at most an hour: for the writer's own cost.
  [[nodiscard]] Duration span(std::uint64_t ticks) const;

  /// Whether the reference is a reading of the machine's monotonic clock, so that processes can be compared.
  [[nodiscard]] bool aligned() const { return aligned_; }
  [[nodiscard]] std::int64_t reference_monotonic_ns() const { return reference_ns_; }
  [[nodiscard]] Duration reference_fraction() const { return fraction_; }  ///< below a nanosecond
  [[nodiscard]] Duration residual() const { return residual_; }
  /// Realtime minus monotonic clock, median over the pairs.
  [[nodiscard]] std::optional<std::int64_t> realtime_offset_ns() const { return realtime_offset_ns_; }
  [[nodiscard]] const std::string& loss() const { return loss_; }  ///< what is doubtful; empty = nothing

  static constexpr std::uint64_t kPsPerDay = 86'400'000'000'000'000U;
  static constexpr std::uint64_t kLatest = 100 * kPsPerDay;
  /// The first reading comes before the first event.
  static constexpr std::uint64_t kEarliest = 10'000'000'000'000U;

 private:
  static constexpr int kShift = 40;
  void set_slope(double ps_per_tick);
  void fit_counter(const RawHeader& header, std::size_t pairs);
  void follow_monotonic(const RawHeader& header, std::size_t pairs);

  std::uint64_t reference_ = 0;
  std::uint64_t slope_ = 0;
  bool aligned_ = true;
  std::int64_t reference_ns_ = 0;
  Duration fraction_{};
  Duration residual_{};
  std::optional<std::int64_t> realtime_offset_ns_;
  std::string loss_;
};

}  // namespace cox::trace
