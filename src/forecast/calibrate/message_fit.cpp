// SPDX-License-Identifier: Apache-2.0
#include "forecast/calibrate/message_fit.hpp"

#include <algorithm>
#include <cmath>

#include "cox/base/assert.hpp"
#include "cox/base/stats.hpp"

#include "forecast/law/special.hpp"

namespace cox::forecast {
namespace {

constexpr double kTail = 0.05;                    ///< on each side of an interval
constexpr double kNormal = 1.6448536269514722;    ///< quantile of the normal law that goes with it
constexpr double kApart = 2;                      ///< largest size over smallest, at least
constexpr double kExact = 1e-3;                   ///< of a median: no clock and no machine tells more
constexpr double kReached = 0.9;                  ///< of the ceiling
constexpr double kDip = 2;                        ///< times the median of its size
constexpr std::size_t kLeastTimes = 20;           ///< of a size, for its median to tell dips
constexpr Bytes kSmall{std::int64_t{64} * 1024};  ///< up to here latency is what a message costs

/// The median time of one size.
struct SizeTime {
  double bytes = 0;
  double median = 0;  ///< seconds
  double error = 0;
};

struct Line {
  double at_zero = 0;
  double slope = 0;
  double at_zero_half = 0;  ///< of the intervals
  double slope_half = 0;
};

/// Least squares with the medians' errors as weights; larger misses than these explain widen the intervals.
Line line_through(const std::vector<SizeTime>& points) {
  double w = 0;
  double x = 0;
  double y = 0;
  for (const SizeTime& p : points) {
    const double weight = 1 / (p.error * p.error);
    w += weight;
    x += weight * p.bytes;
    y += weight * p.median;
  }
  x /= w;
  y /= w;
  double xx = 0;
  double xy = 0;
  for (const SizeTime& p : points) {
    const double weight = 1 / (p.error * p.error);
    xx += weight * (p.bytes - x) * (p.bytes - x);
    xy += weight * (p.bytes - x) * (p.median - y);
  }
  Line line{.slope = xy / xx};
  line.at_zero = y - line.slope * x;
  double misses = 0;
  for (const SizeTime& p : points)
    misses += std::pow((p.median - line.at_zero - line.slope * p.bytes) / p.error, 2);
  const auto freedom = static_cast<std::int64_t>(points.size()) - 2;
  const double wide = freedom > 0 ? std::sqrt(std::max(1.0, misses / static_cast<double>(freedom))) *
                                        student_quantile(kTail, freedom)
                                  : kNormal;
  line.slope_half = wide / std::sqrt(xx);
  line.at_zero_half = wide * std::sqrt(1 / w + x * x / xx);
  return line;
}

TimeEstimate time_of(double value, double half, std::int64_t units) {
  return {.value = Seconds{std::max(0.0, value)},
          .low = Seconds{std::max(0.0, value - half)},
          .high = Seconds{std::max(0.0, value + half)},
          .units = units};
}

void add_line(const std::vector<SizeTime>& points, MessageFit& out) {
  const Line line = line_through(points);
  out.latency = time_of(line.at_zero, line.at_zero_half, out.operations);
  const auto per_byte = [](double s) { return TimePerByte::seconds_per_byte(std::max(0.0, s)); };
  out.per_byte = {.value = per_byte(line.slope),
                  .low = per_byte(line.slope - line.slope_half),
                  .high = per_byte(line.slope + line.slope_half)};
  if (points.size() < 3) return;
  std::vector<double> misses;
  for (const SizeTime& p : points) {
    const double fitted = out.latency.value.count() + out.per_byte.value.in_seconds_per_byte() * p.bytes;
    misses.push_back(std::abs(p.median / fitted - 1));
  }
  out.misfit = median_in_place(misses);
}

/// One size: all of the time is latency, or none of it.
void add_range(const SizeTime& only, MessageFit& out) {
  if (out.kind == model::Collective::Barrier) {
    out.latency = time_of(only.median, kNormal * only.error, out.operations);
    return;
  }
  const bool small = only.bytes <= static_cast<double>(kSmall.count());
  out.latency = {.value = Seconds{small ? only.median : 0},
                 .low = {},
                 .high = Seconds{only.median},
                 .origin = Origin::Range,
                 .units = out.operations};
  if (only.bytes <= 0) return;  // how many bytes it has is not told
  const TimePerByte all = TimePerByte::seconds_per_byte(only.median / only.bytes);
  out.per_byte = {.value = small ? TimePerByte{} : all, .low = {}, .high = all, .origin = Origin::Range};
}

/// The bus's highest rate, where more bytes no longer give more.
void add_ceiling(const std::vector<SizeTime>& points, MessageFit& out) {
  const double factor = model::busbw_factor(out.kind, static_cast<int>(out.ranks));
  double highest = 0;
  for (const SizeTime& p : points) highest = std::max(highest, factor * p.bytes / p.median);
  std::size_t from = points.size();
  while (from > 0 && factor * points[from - 1].bytes / points[from - 1].median >= kReached * highest) --from;
  if (points.size() < 3 || from + 2 > points.size() || highest <= 0) return;
  out.ceiling = Bandwidth::bytes_per_s(highest);
  out.ceiling_from = Bytes{static_cast<std::int64_t>(points[from].bytes)};
}

void add_dips(const std::map<Bytes, std::vector<double>>& sizes, MessageFit& out) {
  std::int64_t looked_at = 0;
  Welford dips;
  for (const auto& [bytes, times] : sizes) {
    if (times.size() < kLeastTimes) continue;
    const double usual = median(times);
    looked_at += static_cast<std::int64_t>(times.size());
    for (const double t : times)
      if (t > kDip * usual) dips.add(t / usual);
  }
  const auto n = static_cast<double>(looked_at);
  const auto k = static_cast<double>(dips.count());
  out.dips = {.value = 0, .low = 0, .high = 1, .origin = Origin::Range, .units = looked_at};
  if (looked_at == 0) return;
  out.dips.origin = Origin::Measured;
  out.dips.value = k / n;
  out.dips.low = k > 0 ? beta_quantile(k + 0.5, n - k + 0.5, kTail) : 0;
  out.dips.high = beta_quantile(k + 0.5, n - k + 0.5, 1 - kTail);
  out.dip = dips.mean();
}

}  // namespace

MessageFit fit_messages(model::Collective kind, std::int64_t ranks,
                        std::map<Bytes, std::vector<double>>& sizes) {
  COX_ASSERT(!sizes.empty(), "a size");
  MessageFit out{.kind = kind, .ranks = ranks};
  std::vector<SizeTime> points;
  for (auto& [bytes, times] : sizes) {
    COX_ASSERT(!times.empty(), "a time of each size");
    const auto n = static_cast<double>(times.size());
    const double middle = median_in_place(times);
    // A median scatters by sqrt(pi / 2) as much as a mean.
    const double error = 1.2533141373155003 * scaled_mad(times) / std::sqrt(n);
    points.push_back({static_cast<double>(bytes.count()), middle, std::max(error, kExact * middle)});
    out.operations += static_cast<std::int64_t>(times.size());
  }
  out.sizes = static_cast<std::int64_t>(points.size());
  out.least = sizes.begin()->first;
  out.most = sizes.rbegin()->first;
  if (points.back().bytes > 0 && points.back().bytes >= kApart * points.front().bytes && points.size() > 1)
    add_line(points, out);
  else
    add_range(*std::ranges::max_element(points, {}, [&](const SizeTime& p) { return -p.error / p.median; }),
              out);
  add_ceiling(points, out);
  add_dips(sizes, out);
  return out;
}

}  // namespace cox::forecast
