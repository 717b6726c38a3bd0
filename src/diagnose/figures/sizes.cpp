// SPDX-License-Identifier: Apache-2.0
// Times over message sizes: a latency and a bandwidth part, a ceiling, dips; and where two configurations differ.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "cox/base/stats.hpp"

#include "diagnose/figures/parts.hpp"

namespace cox::diagnose {
namespace {

constexpr double kDip = 1.2;
constexpr double kNearCeiling = 0.9;
constexpr int kFits = 40;
/// Relative deviations beyond this weigh less.
constexpr double kHuber = 0.05;
constexpr std::size_t kLeastSizes = 4;
constexpr double kLeastDifference = 0.05;
constexpr double kLeastScatter = 0.005;
/// By how much a difference has to lower twice the negative logarithm of the likelihood, beside its parameters.
constexpr double kEvidence = 12;

struct Point {
  double size = 0;
  double time = 0;
  double scatter = 0;  ///< standard error over the time; 0 = not told
  std::int64_t repeats = 0;
};

std::vector<Point> points_of(const trace::SizeSeries& s) {
  std::vector<Point> points;
  std::vector<double> same;
  for (std::size_t i = 0; i < s.values.size();) {
    const Bytes size = s.values[i].size;
    same.clear();
    for (; i < s.values.size() && s.values[i].size == size; ++i) same.push_back(s.values[i].time.count());
    Point p{.size = static_cast<double>(size.count()),
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

struct Line {
  double latency = 0;
  double per_byte = 0;
  [[nodiscard]] double at(double size) const { return latency + per_byte * size; }
};

/// time = latency + size * per_byte with least relative deviations, neither below zero.
Line fit_line(const std::vector<Point>& points) {
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

void find_dips(const std::vector<Point>& points, SizeAnswer& a) {
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    const auto fastest = std::min_element(points.begin() + static_cast<std::ptrdiff_t>(i) + 1, points.end(),
                                          [](const Point& x, const Point& y) { return x.time < y.time; });
    const double scatter = 3 * std::hypot(points[i].scatter, fastest->scatter);
    if (points[i].time < fastest->time * (kDip + scatter)) continue;
    a.dips.push_back({Bytes(std::llround(points[i].size)), Seconds(points[i].time),
                      Bytes(std::llround(fastest->size)), Seconds(fastest->time)});
  }
}

void find_ceiling(const std::vector<Point>& points, SizeAnswer& a) {
  double most = 0;
  for (const Point& p : points) most = std::max(most, p.size / p.time);
  a.ceiling = Bandwidth::bytes_per_s(most);
  for (auto p = points.rbegin(); p != points.rend() && p->size / p->time >= kNearCeiling * most; ++p)
    a.ceiling_from = Bytes(std::llround(p->size));
}

SizeAnswer answer_series(const trace::SizeSeries& s) {
  SizeAnswer a{.name = s.name, .nodes = s.nodes};
  const std::vector<Point> points = points_of(s);
  a.sizes = static_cast<std::int64_t>(points.size());
  for (const Point& p : points) a.repeats = std::max(a.repeats, p.repeats);
  if (points.empty()) return a;
  find_ceiling(points, a);
  find_dips(points, a);
  if (points.size() < kLeastSizes) return a;
  const Line line = fit_line(points);
  std::vector<double> off;
  for (const Point& p : points) off.push_back(std::abs(p.time / line.at(p.size) - 1));
  a.fit_error_ratio = median_in_place(off);
  a.latency = Seconds(line.latency);
  if (line.per_byte > 0) a.bandwidth = Bandwidth::bytes_per_s(1 / line.per_byte);
  return a;
}

/// Sizes of both, as after over before.
struct Pairs {
  std::vector<double> size, before, after, error;  ///< `error` of the difference, in seconds
  double scatter = 0;
};

Pairs pairs_of(const std::vector<Point>& before, const std::vector<Point>& after) {
  Pairs p;
  std::vector<double> logs;
  std::vector<double> told;
  for (std::size_t i = 0, k = 0; i < before.size() && k < after.size();) {
    if (before[i].size < after[k].size) {
      ++i;
    } else if (after[k].size < before[i].size) {
      ++k;
    } else {
      p.size.push_back(before[i].size);
      p.before.push_back(before[i].time);
      p.after.push_back(after[k].time);
      logs.push_back(std::log(after[k].time / before[i].time));
      if (before[i].scatter > 0 && after[k].scatter > 0)
        told.push_back(std::hypot(before[i].scatter, after[k].scatter));
      ++i;
      ++k;
    }
  }
  // Neighbours differ by noise, and by little else: the second difference of noise has six times its variance.
  std::vector<double> bends;
  for (std::size_t i = 1; i + 1 < logs.size(); ++i)
    bends.push_back(std::abs(logs[i - 1] - 2 * logs[i] + logs[i + 1]));
  const double by_bends = bends.empty() ? 0 : 1.4826 * median_in_place(bends) / std::sqrt(6.0);
  const double by_repeats = told.empty() ? 0 : median_in_place(told);
  p.scatter = std::max({kLeastScatter, by_bends, by_repeats});
  for (std::size_t i = 0; i < p.size.size(); ++i)
    p.error.push_back(p.scatter * std::max(p.before[i], p.after[i]));
  return p;
}

/// A way in which two configurations may differ: `shape` times one number, fitted.
struct Candidate {
  SizeDifference difference = SizeDifference::None;
  double cost = 0;    ///< deviations over their errors, squared and bounded, plus the price of its parameters
  double amount = 0;  ///< of `shape`
  std::size_t border = 0;
};

/// Bounded, so that one dip in one of the two is not a difference between them.
double bounded(double z) {
  return std::min(z * z, 16.0);
}

template <class Shape>
Candidate fit(const Pairs& p, SizeDifference difference, std::size_t border, double parameters,
              const Shape& shape) {
  std::vector<double> amounts;
  for (std::size_t i = 0; i < p.size.size(); ++i)
    if (shape(i) > 0) amounts.push_back((p.after[i] - p.before[i]) / shape(i));
  // An offset is told by the small sizes: large ones drown it.
  double top = 0;
  double bottom = 0;
  double amount = amounts.empty() ? 0 : median_in_place(amounts);
  for (int round = 0; round < 10; ++round) {
    top = 0;
    bottom = 0;
    for (std::size_t i = 0; i < p.size.size(); ++i) {
      const double z = (p.after[i] - p.before[i] - amount * shape(i)) / p.error[i];
      const double w = 1 / (p.error[i] * p.error[i]) / std::max(1.0, std::abs(z) / 2);
      top += w * shape(i) * (p.after[i] - p.before[i]);
      bottom += w * shape(i) * shape(i);
    }
    if (bottom > 0) amount = top / bottom;
  }
  Candidate c{difference, parameters * std::log(static_cast<double>(p.size.size())), amount, border};
  for (std::size_t i = 0; i < p.size.size(); ++i)
    c.cost += bounded((p.after[i] - p.before[i] - amount * shape(i)) / p.error[i]);
  return c;
}

Candidate best_of(const Pairs& p) {
  const std::size_t n = p.size.size();
  Candidate none;
  for (std::size_t i = 0; i < n; ++i) none.cost += bounded((p.after[i] - p.before[i]) / p.error[i]);
  std::vector<Candidate> all{fit(p, SizeDifference::Factor, 0, 1, [&](std::size_t i) { return p.before[i]; }),
                             fit(p, SizeDifference::Offset, 0, 1, [](std::size_t) { return 1.0; })};
  for (std::size_t k = 2; k + 2 <= n; ++k) {
    all.push_back(
        fit(p, SizeDifference::SmallOnly, k - 1, 2, [&](std::size_t i) { return i < k ? p.before[i] : 0; }));
    all.push_back(
        fit(p, SizeDifference::LargeOnly, k, 2, [&](std::size_t i) { return i >= k ? p.before[i] : 0; }));
  }
  const Candidate best = *std::min_element(
      all.begin(), all.end(), [](const Candidate& a, const Candidate& b) { return a.cost < b.cost; });
  return none.cost - best.cost >= kEvidence ? best : none;
}

SizeComparison compare_two(const trace::SizeSeries& before, const trace::SizeSeries& after) {
  SizeComparison c{.before = before.name, .after = after.name, .nodes = after.nodes};
  const Pairs p = pairs_of(points_of(before), points_of(after));
  c.sizes = static_cast<std::int64_t>(p.size.size());
  c.scatter_ratio = p.scatter;
  c.difference = SizeDifference::Unclear;
  if (p.size.size() < kLeastSizes) return c;
  c.least_seen_ratio = std::max(
      kLeastDifference,
      p.scatter * std::sqrt((kEvidence + std::log(p.size.size())) / static_cast<double>(p.size.size())));
  const Candidate best = best_of(p);
  const double smallest = p.before.front();
  const double change = best.difference == SizeDifference::Offset ? best.amount / smallest : best.amount;
  c.difference = std::abs(change) < kLeastDifference ? SizeDifference::None : best.difference;
  if (c.difference == SizeDifference::None) return c;
  c.ratio = 1 + change;
  if (c.difference == SizeDifference::Offset) c.offset = Seconds(best.amount);
  if (c.difference == SizeDifference::SmallOnly || c.difference == SizeDifference::LargeOnly)
    c.border = Bytes(std::llround(p.size[best.border]));
  return c;
}

}  // namespace

std::vector<SizeAnswer> answer_sizes(const trace::SizeTable& table) {
  std::vector<SizeAnswer> answers;
  for (const trace::SizeSeries& s : table.series) answers.push_back(answer_series(s));
  return answers;
}

std::vector<SizeComparison> compare_series(const trace::SizeTable& table, const trace::SizeTable* before) {
  std::vector<SizeComparison> out;
  for (std::size_t i = 0; i < table.series.size(); ++i) {
    const trace::SizeSeries& s = table.series[i];
    const auto& others = before != nullptr ? before->series : table.series;
    const std::size_t end = before != nullptr ? others.size() : i;
    for (std::size_t k = 0; k < end; ++k) {
      if (others[k].nodes != s.nodes || (before != nullptr && others[k].name != s.name)) continue;
      out.push_back(compare_two(others[k], s));
      break;
    }
  }
  return out;
}

}  // namespace cox::diagnose
