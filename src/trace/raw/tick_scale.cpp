// SPDX-License-Identifier: Apache-2.0
#include "trace/raw/tick_scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace cox::trace {
namespace {

constexpr double kSlowestHz = 1e6;
constexpr double kFastestHz = 1e13;
constexpr std::int64_t kMinSpanNs = 10'000'000;
constexpr std::int64_t kLatestNs = 4'000'000'000'000'000'000;  // a machine that runs for 126 years
constexpr double kPlausible = 0.2;  // a slope further than this from the writer's own estimate is garbage

/// a - b for counters that wrap: small distances in either direction are right.
double distance(std::uint64_t a, std::uint64_t b) {
  return a >= b ? static_cast<double>(a - b) : -static_cast<double>(b - a);
}
double distance(std::int64_t a, std::int64_t b) {
  return static_cast<double>(a) - static_cast<double>(b);
}

struct Line {
  double slope = 0;      // ns per tick
  double intercept = 0;  // ns at the first pair, from its own reading
};

/// Least squares in centred coordinates; nothing where the pairs span too little or run backwards.
std::optional<Line> fit(const ClockPair* pairs, std::size_t n) {
  if (n < 2) return std::nullopt;
  const ClockPair& first = pairs[0];
  double mean_x = 0;
  double mean_y = 0;
  double low = 0;
  double high = 0;
  for (std::size_t i = 0; i < n; ++i) {
    mean_x += distance(pairs[i].ticks, first.ticks) / static_cast<double>(n);
    const double y = distance(pairs[i].monotonic_ns, first.monotonic_ns);
    mean_y += y / static_cast<double>(n);
    low = std::min(low, y);
    high = std::max(high, y);
  }
  if (high - low < static_cast<double>(kMinSpanNs)) return std::nullopt;
  double xx = 0;
  double xy = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double x = distance(pairs[i].ticks, first.ticks) - mean_x;
    xx += x * x;
    xy += x * (distance(pairs[i].monotonic_ns, first.monotonic_ns) - mean_y);
  }
  const double slope = xy / xx;
  if (!std::isfinite(slope) || slope <= 0) return std::nullopt;
  return Line{slope, mean_y - slope * mean_x};
}

Duration largest_residual(const ClockPair* pairs, std::size_t n, const Line& line) {
  double worst = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double x = distance(pairs[i].ticks, pairs[0].ticks);
    const double y = distance(pairs[i].monotonic_ns, pairs[0].monotonic_ns);
    worst = std::max(worst, std::abs(y - line.intercept - line.slope * x));
  }
  return duration_from_seconds(worst * 1e-9);
}

std::optional<std::int64_t> median_realtime_offset(const ClockPair* pairs, std::size_t n) {
  std::vector<Int128> offsets;
  for (std::size_t i = 0; i < n; ++i) offsets.push_back(Int128{pairs[i].realtime_ns} - pairs[i].monotonic_ns);
  if (offsets.empty()) return std::nullopt;
  std::sort(offsets.begin(), offsets.end());
  const Int128 middle = offsets[offsets.size() / 2];
  if (middle > INT64_MAX || middle < INT64_MIN) return std::nullopt;
  return static_cast<std::int64_t>(middle);
}

}  // namespace

void TickScale::set_slope(double ps_per_tick) {
  slope_ = static_cast<std::uint64_t>(std::llround(ps_per_tick * 0x1p40));
}

/// A counter without a meaning of its own, such as the TSC.
void TickScale::fit_counter(const RawHeader& header, std::size_t pairs) {
  const double ns_per_tick = 1e9 / header.ticks_per_second;
  std::optional<Line> line = fit(header.pairs, pairs);
  if (line && std::abs(line->slope / ns_per_tick - 1) > kPlausible) {
    loss_ =
        fmt::format("clock readings advance {:.3f} ns per tick, the writer measured {:.3f}; its own is used",
                    line->slope, ns_per_tick);
    line.reset();
  }
  const Line used = line.value_or(Line{ns_per_tick, 0});
  set_slope(used.slope * 1000);
  if (pairs == 0) {
    aligned_ = false;
    // Such counters start with the machine, so this is the right order of magnitude and no more.
    loss_ = "no clock reading: its times cannot be compared with other processes'";
    reference_ns_ = static_cast<std::int64_t>(
        std::min(static_cast<double>(reference_) * ns_per_tick, static_cast<double>(kLatestNs)));
    return;
  }
  const double intercept = std::floor(used.intercept);
  reference_ns_ = header.pairs[0].monotonic_ns + static_cast<std::int64_t>(std::clamp(intercept, -1e9, 1e9));
  fraction_ = Duration{std::llround((used.intercept - intercept) * 1000)};
  residual_ = largest_residual(header.pairs, pairs, used);
}

/// Ticks of the monotonic clock itself, in nanoseconds, or in picoseconds where a tool wrote the file.
void TickScale::follow_monotonic(const RawHeader& header, std::size_t pairs) {
  set_slope(1e12 / header.ticks_per_second);
  const Uint128 ps = (Uint128{reference_} * slope_) >> kShift;
  constexpr Uint128 kMost = Uint128{kLatestNs} * 1000;
  const Uint128 bounded = std::min(ps, kMost);
  reference_ns_ = static_cast<std::int64_t>(bounded / 1000);
  fraction_ = Duration{static_cast<std::int64_t>(bounded % 1000)};
  if (pairs == 0) return;
  const double own = distance(reference_ns_, header.pairs[0].monotonic_ns);
  residual_ = largest_residual(header.pairs, pairs, Line{1e9 / header.ticks_per_second, own});
}

TickScale TickScale::from(const RawHeader& header, std::uint64_t first_ticks) {
  RawHeader h = header;
  TickScale scale;
  if (!(h.ticks_per_second >= kSlowestHz && h.ticks_per_second <= kFastestHz)) {
    scale.loss_ = fmt::format("{} ticks per second, expected {} to {}; 1e9 is used", h.ticks_per_second,
                              kSlowestHz, kFastestHz);
    h.ticks_per_second = 1e9;
  }
  auto pairs = static_cast<std::size_t>(std::min<std::uint64_t>(h.pair_count, kMaxClockPairs));
  const auto garbage = [](const ClockPair& p) { return p.monotonic_ns < 0 || p.monotonic_ns > kLatestNs; };
  if (std::any_of(h.pairs, h.pairs + pairs, garbage)) pairs = 0;
  scale.reference_ = pairs > 0 ? h.pairs[0].ticks : first_ticks;
  scale.realtime_offset_ns_ = median_realtime_offset(h.pairs, pairs);
  if (h.clock_kind == ClockKind::Monotonic)
    scale.follow_monotonic(h, pairs);
  else
    scale.fit_counter(h, pairs);
  return scale;
}

Duration TickScale::span(std::uint64_t ticks) const {
  constexpr std::uint64_t kHour = 3'600'000'000'000'000U;
  const Uint128 ps = (Uint128{ticks} * slope_) >> kShift;
  return Duration{static_cast<std::int64_t>(std::min<Uint128>(ps, kHour))};
}

}  // namespace cox::trace
