// SPDX-License-Identifier: Apache-2.0
#include "forecast/simulated/asked_sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "cox/base/number_text.hpp"
#include "cox/base/stats.hpp"
#include "cox/base/units_text.hpp"

#include "forecast/scenario/resize.hpp"

namespace cox::forecast {
namespace {

constexpr double kShorter = 5e-3;
constexpr double kEnd = 0.05;  // beyond each end of a band

struct Knot {
  double x;      // ln ranks
  double y;      // ln of simulated over parts
  double noise;  // variance of y
};

std::vector<Knot> knots_of(std::span<const CheckedSize> sizes) {
  std::vector<Knot> out;
  for (const CheckedSize& s : sizes) {
    const double sd = s.half_width / s.step / 1.96;
    out.push_back({std::log(static_cast<double>(s.ranks)), std::log(s.step / s.by_parts.value), sd * sd});
  }
  return out;
}

/// What is not known of a walk of variance 1 between these two.
double bridge(double a, double x, double b) {
  return (x - a) * (b - x) / (b - a);
}

}  // namespace

std::vector<CheckedSize> simulate_asked_sizes(const model::Scenario& scenario, Scaling scaling,
                                              const std::vector<std::int64_t>& asked,
                                              const CheckedSizes& known, int threads) {
  std::set<std::int64_t> sizes(asked.begin(), asked.end());
  for (const CheckedSize& s : known.all()) sizes.erase(s.ranks);
  const std::int64_t unit = unit_of(scenario);
  std::vector<CheckedSize> out;
  for (const std::int64_t ranks : sizes) {
    if (ranks < unit || ranks % unit != 0 || !not_shared_out(scenario, ranks).empty()) continue;
    if (auto one = simulate_size(scenario, scaling, ranks, threads)) out.push_back(*std::move(one));
  }
  return out;
}

SizePoint point_of_asked(CheckedSize& size, const Parts& parts, const RestOfScenario& rest,
                         ProjectOptions options) {
  if (const std::optional<TimeEstimate> here = rest.simulated_at(size.ranks))
    options.rest = [here = *here, ranks = size.ranks, around = std::move(options.rest)](std::int64_t other) {
      return other == ranks ? here : around(other);
    };
  ProjectOptions plain = options;
  plain.over_parts = {};
  size.by_parts = project_one(parts, size.ranks, plain).mean;
  size.forecast = project_one(parts, size.ranks, options).mean;
  if (!size.follows())
    options.over_parts = [by = size.step / size.forecast.value, around = options.over_parts](
                             std::int64_t ranks) { return by * over_parts_at(around, ranks); };
  SizePoint point = project(parts, {size.ranks}, options).points.front();
  size.forecast = point.mean;
  hold(point, size);
  return point;
}

double between_sizes(std::span<const CheckedSize> sizes, std::int64_t ranks) {
  const std::vector<Knot> knots = knots_of(sizes);
  if (knots.size() < 2) return 0;
  double sum = 0;
  std::size_t freedom = 0;
  for (std::size_t i = 1; i + 1 < knots.size(); ++i) {
    const Knot& a = knots[i - 1];
    const Knot& k = knots[i];
    const Knot& b = knots[i + 1];
    const double t = (k.x - a.x) / (b.x - a.x);
    const double miss = k.y - (1 - t) * a.y - t * b.y;
    const double noise = k.noise + (1 - t) * (1 - t) * a.noise + t * t * b.noise;
    sum += std::max(miss * miss - noise, 0.0) / bridge(a.x, k.x, b.x);
    ++freedom;
  }
  if (freedom == 0) {
    const double miss = knots[1].y - knots[0].y;
    sum = std::max(miss * miss - knots[0].noise - knots[1].noise, 0.0) / (knots[1].x - knots[0].x);
    freedom = 1;
  }
  const double variance = sum / static_cast<double>(freedom);
  const double x = std::log(static_cast<double>(ranks));
  double open = std::max(knots.front().x - x, 0.0);
  if (x > knots.front().x && x < knots.back().x) {
    const auto above = std::ranges::lower_bound(knots, x, {}, &Knot::x);
    open = std::max(bridge(std::prev(above)->x, x, above->x), 0.0);
  }
  return std::expm1(student_quantile(kEnd, static_cast<std::int64_t>(freedom)) * std::sqrt(variance * open));
}

std::vector<std::string> shorter_steps(const Projection& projection, const CheckedSizes& simulated) {
  std::vector<std::string> out;
  if (projection.scaling == Scaling::Strong) return out;
  std::vector<const SizePoint*> points;
  for (const SizePoint& p : projection.points)
    if (p.refused.empty()) points.push_back(&p);
  std::ranges::sort(points, {}, &SizePoint::ranks);
  const std::vector<CheckedSize> all = simulated.told();
  const auto is_simulated = [&](const SizePoint& p) {
    return std::ranges::find(all, p.ranks, &CheckedSize::ranks) != all.end();
  };
  for (std::size_t i = 1; i < points.size(); ++i) {
    const SizePoint& few = *points[i - 1];
    const SizePoint& many = *points[i];
    const Seconds shorter = few.mean.value - many.mean.value;
    if (shorter <= kShorter * few.mean.value) continue;
    const Seconds sent = few.rest - many.rest;
    out.push_back(fmt::format(
        "{} ranks take less than {} ({} for {}): {}; {}", grouped(many.ranks), grouped(few.ranks),
        to_string(many.mean.value), to_string(few.mean.value),
        2 * sent > shorter
            ? "communication that nothing hides is shorter there by " + to_string(sent)
            : "ranks wait less for each other and for what is sent, or share work that each did",
        is_simulated(few) && is_simulated(many) ? "both are simulated" : "not both are simulated"));
  }
  return out;
}

}  // namespace cox::forecast
