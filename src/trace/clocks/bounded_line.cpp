// SPDX-License-Identifier: Apache-2.0
#include "trace/clocks/bounded_line.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "cox/base/stats.hpp"

namespace cox::trace {
namespace {

constexpr double kWidest = 10;        // value of a line that is looked for, from the given one
constexpr double kSteepest = 2e-3;    // slope, likewise
constexpr double kFirstSlack = 1e-6;  // tried when the bounds contradict each other, then twice that, ...

/// Part of a polygon on the side of value + slope * t <= bound (sign +1) or >= bound (-1).
/// Source: Sutherland, Hodgman 1974.
std::vector<Line> clip(const std::vector<Line>& polygon, double t, double bound, double sign) {
  std::vector<Line> out;
  for (std::size_t i = 0; i < polygon.size(); ++i) {
    const Line& a = polygon[i];
    const Line& b = polygon[(i + 1) % polygon.size()];
    const double da = sign * (bound - a.at(t));
    const double db = sign * (bound - b.at(t));
    if (da >= 0) out.push_back(a);
    if ((da >= 0) != (db >= 0)) {
      const double f = da / (da - db);
      out.push_back({a.value + f * (b.value - a.value), a.slope + f * (b.slope - a.slope)});
    }
  }
  return out;
}

std::vector<Line> lines_within(const std::vector<Bounded>& points, const Line& about, double slack) {
  std::vector<Line> polygon = {{about.value - kWidest, about.slope - kSteepest},
                               {about.value + kWidest, about.slope - kSteepest},
                               {about.value + kWidest, about.slope + kSteepest},
                               {about.value - kWidest, about.slope + kSteepest}};
  for (const Bounded& p : points) {
    polygon = clip(polygon, p.t, p.upper + slack, 1);
    polygon = clip(polygon, p.t, p.lower - slack, -1);
    if (polygon.empty()) break;
  }
  return polygon;
}

/// Sums of the weights and of their products with the times: what a weighted square of a line needs.
struct Moments {
  double one = 0;
  double t = 0;
  double tt = 0;
  [[nodiscard]] double product(const Line& a, const Line& b) const {
    return one * a.value * b.value + t * (a.value * b.slope + a.slope * b.value) + tt * a.slope * b.slope;
  }
};

}  // namespace

double weighted_quantile(std::vector<Weighted> sample, double q) {
  std::sort(sample.begin(), sample.end(),
            [](const Weighted& a, const Weighted& b) { return a.value < b.value; });
  double total = 0;
  for (const Weighted& w : sample) total += w.weight;
  double sum = 0;
  for (const Weighted& w : sample) {
    sum += w.weight;
    if (sum >= q * total) return w.value;
  }
  return sample.empty() ? 0 : sample.back().value;
}

std::vector<double> weights_of(const std::vector<Bounded>& points) {
  std::vector<double> doubts;
  doubts.reserve(points.size());
  for (const Bounded& p : points) doubts.push_back(p.doubt);
  const double least = std::max(median(doubts) / 2, 1e-9);
  std::vector<double> weights;
  weights.reserve(doubts.size());
  for (const double doubt : doubts) weights.push_back(1 / (std::max(doubt, least) * std::max(doubt, least)));
  return weights;
}

Line follow(const std::vector<Bounded>& points, const std::vector<double>& weights, bool with_slope) {
  Line line;
  std::vector<Weighted> work;
  if (with_slope) {
    for (std::size_t i = 0; i < points.size(); ++i)
      for (std::size_t j = i + 1; j < points.size(); ++j)
        if (points[j].t > points[i].t)
          work.push_back({(points[j].estimate - points[i].estimate) / (points[j].t - points[i].t),
                          (points[j].t - points[i].t) * std::sqrt(weights[i] * weights[j])});
    line.slope = weighted_quantile(work, 0.5);
  }
  work.clear();
  for (std::size_t i = 0; i < points.size(); ++i)
    work.push_back({points[i].estimate - line.slope * points[i].t, weights[i]});
  line.value = weighted_quantile(work, 0.5);
  if (!with_slope) return line;
  std::vector<double> rest;
  work.clear();
  for (std::size_t i = 0; i < points.size(); ++i) {
    rest.push_back(points[i].estimate - line.at(points[i].t));
    work.push_back({std::abs(rest.back()), weights[i]});
  }
  const double usual = 3 * 1.4826 * weighted_quantile(work, 0.5);
  Moments m;
  double y = 0;
  double ty = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (std::abs(rest[i]) > usual) continue;
    m.one += weights[i];
    m.t += weights[i] * points[i].t;
    m.tt += weights[i] * points[i].t * points[i].t;
    y += weights[i] * rest[i];
    ty += weights[i] * points[i].t * rest[i];
  }
  const double determinant = m.one * m.tt - m.t * m.t;
  if (!(determinant > 1e-12 * m.one * m.tt)) return line;
  line.slope += (m.one * ty - m.t * y) / determinant;
  line.value += (m.tt * y - m.t * ty) / determinant;
  return line;
}

Line keep_within(const std::vector<Bounded>& points, const std::vector<double>& weights, const Line& line,
                 double most_slack) {
  std::vector<Line> polygon;
  double slack = 0;
  for (;;) {
    polygon = lines_within(points, line, slack);
    if (!polygon.empty()) break;
    slack = slack == 0 ? kFirstSlack : 2 * slack;
    if (slack > most_slack) return line;
  }
  const bool inside = std::all_of(points.begin(), points.end(), [&](const Bounded& p) {
    return line.at(p.t) <= p.upper + slack && line.at(p.t) >= p.lower - slack;
  });
  if (inside) return line;
  Moments m;
  for (std::size_t i = 0; i < points.size(); ++i) {
    m.one += weights[i];
    m.t += weights[i] * points[i].t;
    m.tt += weights[i] * points[i].t * points[i].t;
  }
  Line best = polygon.front();
  double least = -1;
  for (std::size_t i = 0; i < polygon.size(); ++i) {
    const Line& a = polygon[i];
    const Line& b = polygon[(i + 1) % polygon.size()];
    const Line from{a.value - line.value, a.slope - line.slope};
    const Line along{b.value - a.value, b.slope - a.slope};
    const double length = m.product(along, along);
    const double f = length > 0 ? std::clamp(-m.product(from, along) / length, 0.0, 1.0) : 0;
    const Line off{from.value + f * along.value, from.slope + f * along.slope};
    const double distance = m.product(off, off);
    if (least >= 0 && distance >= least) continue;
    least = distance;
    best = {line.value + off.value, line.slope + off.slope};
  }
  return best;
}

}  // namespace cox::trace
