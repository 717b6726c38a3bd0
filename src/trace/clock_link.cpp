// SPDX-License-Identifier: Apache-2.0
#include "trace/clock_link.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "cox/base/stats.hpp"

namespace cox::trace {
namespace {

constexpr std::size_t kMinSamples = 8;
constexpr std::size_t kMaxSamples = 32768;
constexpr std::size_t kMaxStretches = 64;
constexpr std::size_t kPerStretch = 12;
constexpr std::size_t kStretchesForDrift = 6;
constexpr double kSecondsForDrift = 1;
constexpr double kSteepest = 1e-3;  // a clock that drifts more is broken; kernels slew by at most 500 ppm
constexpr std::size_t kStretchesToBend = 32;
constexpr double kSecondsToBend = 300;

/// A sample in seconds from the first one's time and exit difference: small numbers that doubles hold well.
struct Point {
  double t = 0;
  double upper = 0;
  double lower = 0;
  double exits = 0;
};

struct Line {
  double value = 0;  // at t = 0
  double slope = 0;
  [[nodiscard]] double at(double t) const { return value + slope * t; }
};

/// What a stretch of time says once a slope is taken away.
struct Stretch {
  double t = 0;
  double upper = 0;  // tightest bounds
  double lower = 0;
  double exits = 0;   // where exits agree best
  double spread = 0;  // of the exits, between quartiles
  double estimate = 0;
};

/// Middle of the shortest interval that holds half of the sample: where it is densest, whatever its tails.
/// Source: Andrews et al. 1972 (shorth), midpoint form.
double densest(std::vector<double>& sample) {
  std::sort(sample.begin(), sample.end());
  const std::size_t half = sample.size() / 2 + 1;
  if (half >= sample.size()) return median_in_place(sample);
  std::size_t best = 0;
  for (std::size_t i = 0; i + half <= sample.size(); ++i)
    if (sample[i + half - 1] - sample[i] < sample[best + half - 1] - sample[best]) best = i;
  return (sample[best] + sample[best + half - 1]) / 2;
}

/// Which side's members come last nearly always: their own calls are short then.
enum class Late { Nobody, First, Second };

Late who_is_late(const std::vector<Point>& points) {
  std::vector<double> first;  // how long the last one on the first side stays
  std::vector<double> second;
  for (const Point& p : points) {
    first.push_back(p.upper - p.exits);
    second.push_back(p.exits - p.lower);
  }
  const double a = median_in_place(first);
  const double b = median_in_place(second);
  if (a < 0.5 * b) return Late::First;
  if (b < 0.5 * a) return Late::Second;
  return Late::Nobody;
}

Stretch look_at(const Point* first, std::size_t n, double slope, Late late) {
  Stretch s{.t = 0,
            .upper = std::numeric_limits<double>::infinity(),
            .lower = -std::numeric_limits<double>::infinity(),
            .exits = 0,
            .spread = 0,
            .estimate = 0};
  for (std::size_t i = 0; i < n; ++i) {
    const double drift = slope * first[i].t;
    s.t += first[i].t / static_cast<double>(n);
    s.upper = std::min(s.upper, first[i].upper - drift);
    s.lower = std::max(s.lower, first[i].lower - drift);
  }
  // The message from the late side arrives after a delay; the least delayed third tells best when it left.
  std::vector<std::pair<double, double>> ranked;  // slack to the tight bound, exits
  for (std::size_t i = 0; i < n; ++i) {
    const double drift = slope * first[i].t;
    const double slack = late == Late::First    ? first[i].upper - drift - s.upper
                         : late == Late::Second ? s.lower - (first[i].lower - drift)
                                                : 0;
    ranked.emplace_back(slack, first[i].exits - drift);
  }
  std::size_t keep = n;
  if (late != Late::Nobody) {
    keep = std::max<std::size_t>(n / 3, std::min<std::size_t>(n, 4));
    std::nth_element(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(keep - 1), ranked.end());
  }
  std::vector<double> exits;
  for (std::size_t i = 0; i < keep; ++i) exits.push_back(ranked[i].second);
  s.spread = quantile(exits, 0.75) - quantile(exits, 0.25);
  s.exits = densest(exits);
  return s;
}

std::vector<Stretch> stretches_of(const std::vector<Point>& points, double slope, Late late) {
  const std::size_t count = std::clamp<std::size_t>(points.size() / kPerStretch, 1, kMaxStretches);
  std::vector<Stretch> out;
  for (std::size_t b = 0; b < count; ++b) {
    const std::size_t from = b * points.size() / count;
    const std::size_t to = (b + 1) * points.size() / count;
    out.push_back(look_at(points.data() + from, to - from, slope, late));
  }
  return out;
}

template <class Get>
double quantile_over(const std::vector<Stretch>& stretches, double q, Get get) {
  std::vector<double> values;
  for (const Stretch& s : stretches) values.push_back(get(s));
  return quantile_in_place(values, q);
}

/// Chooses what each stretch's estimate is: the middle of a narrow window, else where the exits agree.
void estimate(std::vector<Stretch>& stretches, bool bounds_mean_something) {
  const double gap = quantile_over(stretches, 0.5, [](const Stretch& s) { return s.upper - s.lower; });
  const double spread = quantile_over(stretches, 0.5, [](const Stretch& s) { return s.spread; });
  const bool by_window = bounds_mean_something && gap >= 0 && gap <= 2 * spread;
  for (Stretch& s : stretches) {
    s.estimate = by_window ? (s.upper + s.lower) / 2 : s.exits;
    if (bounds_mean_something && !by_window && s.lower <= s.upper)
      s.estimate = std::clamp(s.estimate, s.lower, s.upper);
  }
}

/// Median of the slopes between all pairs, then least squares over what lies near that line.
Line fit_line(const std::vector<Stretch>& stretches, bool with_slope) {
  std::vector<double> work;
  Line line;
  if (with_slope) {
    for (std::size_t i = 0; i < stretches.size(); ++i)
      for (std::size_t j = i + 1; j < stretches.size(); ++j)
        if (stretches[j].t > stretches[i].t)
          work.push_back((stretches[j].estimate - stretches[i].estimate) / (stretches[j].t - stretches[i].t));
    if (!work.empty()) line.slope = median_in_place(work);
  }
  const auto rest = [&](const Stretch& s) { return s.estimate - line.slope * s.t; };
  line.value = quantile_over(stretches, 0.5, rest);
  if (!with_slope) return line;
  work.clear();
  for (const Stretch& s : stretches) work.push_back(rest(s) - line.value);
  const double tolerance = 3 * scaled_mad(work);
  double n = 0;
  double mean_t = 0;
  double mean_y = 0;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    if (std::abs(work[i]) > tolerance) continue;
    n += 1;
    mean_t += stretches[i].t;
    mean_y += work[i];
  }
  if (n < 3) return line;
  mean_t /= n;
  mean_y /= n;
  double tt = 0;
  double ty = 0;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    if (std::abs(work[i]) > tolerance) continue;
    tt += (stretches[i].t - mean_t) * (stretches[i].t - mean_t);
    ty += (stretches[i].t - mean_t) * (work[i] - mean_y);
  }
  if (tt <= 0) return line;
  const double extra = ty / tt;
  line.value += mean_y - extra * mean_t;
  line.slope += extra;
  return line;
}

/// Room between a line and the bounds, above and below; negative where the line breaks them. A few stretches
/// may be wrong (an operation that did not hold everybody), so not the very extremes count.
struct Room {
  double up = 0;
  double down = 0;
};

Room room_around(const std::vector<Stretch>& stretches, const Line& rest) {
  return {.up = quantile_over(stretches, 0.03, [&](const Stretch& s) { return s.upper - rest.at(s.t); }),
          .down = quantile_over(stretches, 0.03, [&](const Stretch& s) { return rest.at(s.t) - s.lower; })};
}

/// What moves a line into the window between the bounds; to its middle where they contradict each other.
double shift_into(const Room& room) {
  if (room.up + room.down < 0) return (room.up - room.down) / 2;
  if (room.up < 0) return room.up;
  if (room.down < 0) return -room.down;
  return 0;
}

/// Offsets along a bent line: medians over neighbours, every fourth stretch a knot. Empty where a straight
/// line is as good.
std::vector<double> bends(const std::vector<Stretch>& stretches, const Line& rest) {
  const std::size_t n = stretches.size();
  if (n < kStretchesToBend || stretches.back().t - stretches.front().t < kSecondsToBend) return {};
  std::vector<double> smooth(n);
  std::vector<double> noise(n);
  double worst = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t from = std::min(i < 3 ? 0 : i - 3, n - 7);
    std::vector<double> near;
    for (std::size_t k = from; k < from + 7; ++k)
      near.push_back(stretches[k].estimate - rest.at(stretches[k].t));
    smooth[i] = median_in_place(near);
    noise[i] = stretches[i].estimate - rest.at(stretches[i].t) - smooth[i];
    worst = std::max(worst, std::abs(smooth[i]));
  }
  if (worst <= std::max(4 * scaled_mad(noise), 20e-6)) return {};
  return smooth;
}

}  // namespace

Duration ClockLine::at(Duration t) const {
  if (knots_.empty()) return Duration::zero();
  if (knots_.size() == 1) return knots_.front().value;
  const auto after = std::lower_bound(knots_.begin() + 1, knots_.end() - 1, t,
                                      [](const Knot& k, Duration time) { return k.at < time; });
  const Knot& a = *(after - 1);
  const Knot& b = *after;
  const double slope =
      static_cast<double>((b.value - a.value).count()) / static_cast<double>((b.at - a.at).count());
  return a.value + Duration{std::llround(slope * static_cast<double>((t - a.at).count()))};
}

double ClockLine::slope() const {
  if (knots_.size() < 2) return 0;
  const Knot& a = knots_.front();
  const Knot& b = knots_.back();
  return static_cast<double>((b.value - a.value).count()) / static_cast<double>((b.at - a.at).count());
}

std::optional<LinkFit> fit_link(std::vector<LinkSample> samples) {
  if (samples.size() < kMinSamples) return std::nullopt;
  std::sort(samples.begin(), samples.end(),
            [](const LinkSample& a, const LinkSample& b) { return a.at < b.at; });
  const std::size_t stride = (samples.size() + kMaxSamples - 1) / kMaxSamples;
  const Duration start = samples.front().at;
  const Duration base = samples.front().exits;
  std::vector<Point> points;
  for (std::size_t i = 0; i < samples.size(); i += stride)
    points.push_back({.t = in_seconds(samples[i].at - start),
                      .upper = in_seconds(samples[i].upper - base),
                      .lower = in_seconds(samples[i].lower - base),
                      .exits = in_seconds(samples[i].exits - base)});
  const Late late = who_is_late(points);
  // A first slope from the exits alone: within a stretch the drift itself would blur the bounds.
  std::vector<Stretch> stretches = stretches_of(points, 0, Late::Nobody);
  const bool with_slope = stretches.size() >= kStretchesForDrift && points.back().t >= kSecondsForDrift;
  estimate(stretches, false);
  double slope = fit_line(stretches, with_slope).slope;
  if (std::abs(slope) > kSteepest) slope = 0;
  Line rest;  // beyond the slope
  for (int round = 0; round < 3; ++round) {
    stretches = stretches_of(points, slope, late);
    estimate(stretches, true);
    rest = fit_line(stretches, with_slope);
    if (round == 2 || std::abs(slope + rest.slope) > kSteepest) break;
    slope += rest.slope;
  }
  const Room room = room_around(stretches, rest);
  rest.value += shift_into(room);

  LinkFit fit;
  fit.samples = points.size();
  fit.half_width = duration_from_seconds(std::max(room.up + room.down, 0.0) / 2);
  const auto offset_at = [&](double t, double beyond_slope) {
    return base + duration_from_seconds(beyond_slope + slope * t);
  };
  std::vector<ClockLine::Knot> knots;
  const auto add_knot = [&](double t, double beyond_slope) {
    const Duration at = start + duration_from_seconds(t);
    if (knots.empty() || at > knots.back().at) knots.push_back({at, offset_at(t, beyond_slope)});
  };
  const std::vector<double> bent = bends(stretches, rest);
  for (std::size_t i = 0; i < bent.size(); i += 4)
    add_knot(stretches[i].t, rest.at(stretches[i].t) + bent[i]);
  if (bent.empty()) add_knot(0, rest.at(0));
  if (bent.empty()) add_knot(points.back().t, rest.at(points.back().t));
  fit.offset = ClockLine(std::move(knots));
  std::vector<double> off;
  for (const Stretch& s : stretches) {
    const Duration line = fit.offset.at(start + duration_from_seconds(s.t));
    off.push_back(std::abs(in_seconds(offset_at(s.t, s.estimate) - line)));
  }
  fit.residual = duration_from_seconds(quantile_in_place(off, 0.95));
  return fit;
}

}  // namespace cox::trace
