// SPDX-License-Identifier: Apache-2.0
#include "trace/clocks/clock_link.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "cox/base/stats.hpp"

#include "trace/clocks/bounded_line.hpp"

namespace cox::trace {
namespace {

constexpr std::size_t kMinSamples = 8;
constexpr std::size_t kMaxSamples = 32768;
constexpr std::size_t kMaxStretches = 64;
constexpr std::size_t kPerStretch = 12;
constexpr std::size_t kStretchesForDrift = 6;
constexpr double kSecondsForDrift = 1;
constexpr double kSteepest = 1e-3;    // a clock that drifts more is broken; kernels slew by at most 500 ppm
constexpr double kMostSlack = 10e-3;  // beyond which bounds that contradict each other are not used
constexpr std::size_t kStretchesToBend = 32;
constexpr double kSecondsToBend = 300;

/// A sample in seconds from the first one's time and exit difference: small numbers that doubles hold well.
struct Point {
  double t = 0;
  double upper = 0;
  double lower = 0;
  double exits = 0;
};

/// What a stretch of time says once a slope is taken away. `doubt` is the spread of the exits until an
/// estimate is chosen.
struct Stretch : Bounded {
  double exits = 0;  // where exits agree best
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
  Stretch s;
  s.upper = std::numeric_limits<double>::infinity();
  s.lower = -std::numeric_limits<double>::infinity();
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
  s.doubt = quantile(exits, 0.75) - quantile(exits, 0.25);
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

/// Chooses what each stretch's estimate is: the middle of the window where it is narrow,
/// else where the exits agree.
std::vector<Bounded> estimates_of(std::vector<Stretch>& stretches, bool bounds_mean_something) {
  std::vector<Bounded> out;
  for (Stretch& s : stretches) {
    const double half = (s.upper - s.lower) / 2;
    const bool narrow = bounds_mean_something && half >= 0 && half <= s.doubt;
    s.estimate = narrow ? (s.upper + s.lower) / 2 : s.exits;
    if (narrow) s.doubt = half;
    if (bounds_mean_something && half >= 0) s.estimate = std::clamp(s.estimate, s.lower, s.upper);
    out.push_back(s);
  }
  return out;
}

/// Room between a line and the bounds, above and below.
double half_width(const std::vector<Stretch>& stretches, const Line& rest) {
  double up = std::numeric_limits<double>::infinity();
  double down = up;
  for (const Stretch& s : stretches) {
    up = std::min(up, s.upper - rest.at(s.t));
    down = std::min(down, rest.at(s.t) - s.lower);
  }
  return std::max(up + down, 0.0) / 2;
}

/// Standard error of a slope: scatter about the line, over the spread of the times.
double error_of_slope(const std::vector<Stretch>& stretches, const Line& rest) {
  if (stretches.size() < 3) return 0;
  double mean = 0;
  for (const Stretch& s : stretches) mean += s.t / static_cast<double>(stretches.size());
  double squares = 0;
  std::vector<double> off;
  for (const Stretch& s : stretches) {
    squares += (s.t - mean) * (s.t - mean);
    off.push_back(s.estimate - rest.at(s.t));
  }
  return squares > 0 ? scaled_mad(off) / std::sqrt(squares) : 0;
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

/// Every so many samples, with where their axes begin.
struct Thinned {
  Duration start{};  ///< of times
  Duration base{};   ///< of offsets
  std::vector<Point> points;
};
Thinned thinned(std::vector<LinkSample> samples) {
  std::sort(samples.begin(), samples.end(),
            [](const LinkSample& a, const LinkSample& b) { return a.at < b.at; });
  const std::size_t stride = (samples.size() + kMaxSamples - 1) / kMaxSamples;
  Thinned out{.start = samples.front().at, .base = samples.front().exits, .points = {}};
  for (std::size_t i = 0; i < samples.size(); i += stride)
    out.points.push_back({.t = in_seconds(samples[i].at - out.start),
                          .upper = in_seconds(samples[i].upper - out.base),
                          .lower = in_seconds(samples[i].lower - out.base),
                          .exits = in_seconds(samples[i].exits - out.base)});
  return out;
}

/// From the fit's own axes back to those of the samples.
struct Axes {
  Duration start{};
  Duration base{};
  double slope = 0;

  [[nodiscard]] Duration time_at(double t) const { return start + duration_from_seconds(t); }
  [[nodiscard]] Duration offset_at(double t, double beyond_slope) const {
    return base + duration_from_seconds(beyond_slope + slope * t);
  }
};

/// A straight line, or one with bends.
ClockLine line_of(const std::vector<Stretch>& stretches, const Line& rest, double last, const Axes& axes) {
  std::vector<ClockLine::Knot> knots;
  const auto add_knot = [&](double t, double beyond_slope) {
    const Duration at = axes.time_at(t);
    if (knots.empty() || at > knots.back().at) knots.push_back({at, axes.offset_at(t, beyond_slope)});
  };
  const std::vector<double> bent = bends(stretches, rest);
  for (std::size_t i = 0; i < bent.size(); i += 4)
    add_knot(stretches[i].t, rest.at(stretches[i].t) + bent[i]);
  if (bent.empty()) add_knot(0, rest.at(0));
  if (bent.empty()) add_knot(last, rest.at(last));
  return ClockLine(std::move(knots));
}

/// How far off a line is, at most of the stretches.
Duration residual_of(const ClockLine& line, const std::vector<Stretch>& stretches,
                     const std::vector<double>& weights, const Axes& axes) {
  std::vector<Weighted> off;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    const Stretch& s = stretches[i];
    const Duration here = line.at(axes.time_at(s.t));
    const double by_estimate = std::abs(in_seconds(axes.offset_at(s.t, s.estimate) - here));
    // The truth lies between the bounds, so no error is larger than the way to the farther one.
    const double by_bounds = std::max(in_seconds(axes.offset_at(s.t, s.upper) - here),
                                      in_seconds(here - axes.offset_at(s.t, s.lower)));
    off.push_back({s.lower <= s.upper ? std::min(by_estimate, by_bounds) : by_estimate, weights[i]});
  }
  return duration_from_seconds(weighted_quantile(std::move(off), 0.95));
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
  const auto [start, base, points] = thinned(std::move(samples));
  const Late late = who_is_late(points);
  // A first slope from the exits alone: within a stretch the drift itself would blur the bounds.
  std::vector<Stretch> stretches = stretches_of(points, 0, Late::Nobody);
  const bool with_slope = stretches.size() >= kStretchesForDrift && points.back().t >= kSecondsForDrift;
  std::vector<Bounded> known = estimates_of(stretches, false);
  double slope = follow(known, weights_of(known), with_slope).slope;
  if (std::abs(slope) > kSteepest) slope = 0;
  Line rest;  // beyond the slope
  std::vector<double> weights;
  const auto look = [&](bool drifts) {
    stretches = stretches_of(points, slope, late);
    known = estimates_of(stretches, true);
    weights = weights_of(known);
    rest = follow(known, weights, drifts);
    if (drifts) rest = keep_within(known, weights, rest, kMostSlack);
  };
  for (int round = 0; round < 3; ++round) {
    look(with_slope);
    if (round == 2 || std::abs(slope + rest.slope) > kSteepest) break;
    slope += rest.slope;
  }

  LinkFit fit;
  fit.drift_error = with_slope ? error_of_slope(stretches, rest) : 0;
  if (with_slope && std::abs(slope + rest.slope) < fit.drift_error) {
    slope = 0;
    look(false);
  }
  fit.samples = points.size();
  fit.half_width = duration_from_seconds(half_width(stretches, rest));
  const Axes axes{.start = start, .base = base, .slope = slope};
  fit.offset = line_of(stretches, rest, points.back().t, axes);
  fit.residual = residual_of(fit.offset, stretches, weights, axes);
  return fit;
}

}  // namespace cox::trace
