// SPDX-License-Identifier: Apache-2.0
// Times over message sizes: a latency and a bandwidth part, a ceiling, dips.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "cox/base/stats.hpp"

#include "diagnose/figures/parts.hpp"

namespace cox::diagnose {
namespace {

constexpr double kDip = 1.2;
/// Of the scatter of two times, beyond that.
constexpr double kSpreads = 3.5;
constexpr std::size_t kManyBends = 12;
/// Of the absolute values of a normal sample of spread 1.
constexpr double kLowerQuartile = 0.3186;
constexpr double kNearCeiling = 0.9;
constexpr double kSmallLatency = 0.15;
constexpr int kFits = 40;
/// Relative deviations beyond this weigh less.
constexpr double kHuber = 0.05;

struct Line {
  double latency = 0;
  double per_byte = 0;
  [[nodiscard]] double at(double size) const { return latency + per_byte * size; }
};

/// time = latency + size * per_byte with least relative deviations, neither below zero.
Line fit_line(const std::vector<SizePoint>& points) {
  Line line{points.front().time, 0};
  std::vector<double> weight(points.size(), 1.0);
  for (int round = 0; round < kFits; ++round) {
    double w = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double v = weight[i] / (points[i].time * points[i].time);
      w += v;
      x += v * points[i].size;
      y += v * points[i].time;
      xx += v * points[i].size * points[i].size;
      xy += v * points[i].size * points[i].time;
    }
    const double det = w * xx - x * x;
    if (det > 0) line = {(y * xx - x * xy) / det, (w * xy - x * y) / det};
    if (line.per_byte < 0) line = {y / w, 0};
    if (line.latency < 0 && xx > 0) line = {0, xy / xx};
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double off = std::abs(line.at(points[i].size) / points[i].time - 1);
      weight[i] = off > kHuber ? kHuber / off : 1;
    }
  }
  return line;
}

/// Scatter of one time around what its neighbours say, as a part of it: the second difference of noise has six times
/// its variance, and a line bends by little.
double scatter_of(const std::vector<SizePoint>& points, const Line& line) {
  std::vector<double> bends;
  const auto off = [&](std::size_t i) { return std::log(points[i].time / line.at(points[i].size)); };
  for (std::size_t i = 1; i + 1 < points.size(); ++i)
    bends.push_back(std::abs(off(i - 1) - 2 * off(i) + off(i + 1)));
  if (bends.empty()) return 0;
  // One dip bends three times: of few, only the smaller ones are of noise.
  return bends.size() >= kManyBends ? 1.4826 * median_in_place(bends) / std::sqrt(6.0)
                                    : quantile_in_place(bends, 0.25) / kLowerQuartile / std::sqrt(6.0);
}

/// A size that takes much longer than a larger one, beyond what the scatter of both may give.
void find_dips(const std::vector<SizePoint>& points, double scatter, SizeAnswer& a) {
  const SizePoint* fastest = &points.back();  // of the larger ones
  for (std::size_t i = points.size() - 1; i-- > 0;) {
    const SizePoint& p = points[i];
    const double errors = std::hypot(std::max(p.scatter, scatter), std::max(fastest->scatter, scatter));
    if (p.time >= fastest->time * kDip * std::exp(kSpreads * errors))
      a.dips.push_back({Bytes(std::llround(p.size)), Seconds(p.time), Bytes(std::llround(fastest->size)),
                        Seconds(fastest->time)});
    if (p.time <= fastest->time) fastest = &p;
  }
  std::reverse(a.dips.begin(), a.dips.end());
}

void find_ceiling(const std::vector<SizePoint>& points, SizeAnswer& a) {
  double most = 0;
  for (const SizePoint& p : points) most = std::max(most, p.size / p.time);
  a.ceiling = Bandwidth::bytes_per_s(most);
  for (auto p = points.rbegin(); p != points.rend() && p->size / p->time >= kNearCeiling * most; ++p)
    a.ceiling_from = Bytes(std::llround(p->size));
}

/// Whether a size that is clearly smaller than the largest is as fast as any.
bool levels_off(const std::vector<SizePoint>& points, const SizeAnswer& a) {
  return std::any_of(points.begin(), points.end(), [&](const SizePoint& p) {
    return 2 * p.size <= points.back().size && p.size / p.time >= kNearCeiling * a.ceiling.in_bytes_per_s();
  });
}

SizeAnswer answer_series(const trace::SizeSeries& s) {
  SizeAnswer a{.name = s.name, .nodes = s.nodes};
  a.in_place = s.in_place;
  a.bus_ratio = s.bus_ratio;
  const std::vector<SizePoint> points = points_of(s);
  a.sizes = static_cast<std::int64_t>(points.size());
  for (const SizePoint& p : points) a.repeats = std::max(a.repeats, p.repeats);
  if (points.empty()) return a;
  find_ceiling(points, a);
  a.largest = Bytes(std::llround(points.back().size));
  a.ceiling_reached = levels_off(points, a);
  const Line line = fit_line(points);
  find_dips(points, points.size() < kLeastSizes ? 0 : scatter_of(points, line), a);
  if (points.size() < kLeastSizes) return a;
  std::vector<double> off;
  off.reserve(points.size());
  for (const SizePoint& p : points) off.push_back(std::abs(p.time / line.at(p.size) - 1));
  a.fit_error_ratio = median_in_place(off);
  a.latency = Seconds(line.latency);
  if (a.fit_error_ratio <= kPoorFit && line.latency <= kSmallLatency * points.back().time)
    a.ceiling_reached = true;
  // What the largest size shows little of is not known.
  constexpr double kLeastPart = 0.1;
  const double largest = points.back().size;
  if (line.per_byte > 0 && line.per_byte * largest >= kLeastPart * line.at(largest))
    a.bandwidth = Bandwidth::bytes_per_s(1 / line.per_byte);
  return a;
}

}  // namespace

bool is_other_place(const trace::SizeSeries& a, const trace::SizeSeries& b) {
  const auto bare = [](std::string_view name) {
    for (const std::string_view place : {"out of place", "in place"})
      if (name.ends_with(place)) return name.substr(0, name.size() - place.size());
    return name;
  };
  return a.in_place != b.in_place && a.nodes == b.nodes && bare(a.name) == bare(b.name);
}

std::vector<SizePoint> points_of(const trace::SizeSeries& s) {
  std::vector<SizePoint> points;
  std::vector<double> same;
  for (std::size_t i = 0; i < s.values.size();) {
    const Bytes size = s.values[i].size;
    same.clear();
    for (; i < s.values.size() && s.values[i].size == size; ++i) same.push_back(s.values[i].time.count());
    SizePoint p{.size = static_cast<double>(size.count()),
                .time = median(same),
                .scatter = 0,
                .repeats = static_cast<std::int64_t>(same.size())};
    if (p.time <= 0) continue;
    if (same.size() >= 3)
      p.scatter = 1.2533 * scaled_mad(same) / std::sqrt(static_cast<double>(same.size())) / p.time;
    points.push_back(p);
  }
  return points;
}

std::vector<SizeAnswer> answer_sizes(const trace::SizeTable& table) {
  std::vector<SizeAnswer> answers;
  answers.reserve(table.series.size());
  for (const trace::SizeSeries& s : table.series) {
    answers.push_back(answer_series(s));
    answers.back().has_other_place =
        s.in_place && std::any_of(table.series.begin(), table.series.end(),
                                  [&](const trace::SizeSeries& other) { return is_other_place(other, s); });
  }
  return answers;
}

}  // namespace cox::diagnose
