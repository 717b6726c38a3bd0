// SPDX-License-Identifier: Apache-2.0
#include "forecast/answer/far_sizes.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "cox/base/parallel.hpp"
#include "cox/simulate/outcome.hpp"
#include "cox/simulate/spread.hpp"

#include "forecast/project/project.hpp"
#include "forecast/scenario/resize.hpp"

namespace cox::forecast {
namespace {

constexpr int kSteps = 3;
constexpr std::size_t kReplicas = 3;
constexpr std::int64_t kApart = 4;
constexpr std::int64_t kMostRanks = 1'048'576;
constexpr double kMostEvaluated = 1 << 24;  ///< of a step: about a second

/// With the noise that the forecast has, too.
model::Scenario with_noise(const model::Scenario& scenario, std::int64_t ranks, int steps) {
  model::Scenario s = resized(scenario, ranks);
  std::erase_if(s.noise, [](const model::NoiseSource& n) { return n.pattern == model::NoisePattern::Once; });
  s.failures = {};
  s.start = {};
  s.replicas = 1;
  s.job.steps = std::min<decltype(s.job.steps)>(s.job.steps, steps);
  return s;
}

std::optional<double> evaluated_at(const model::Scenario& scenario, std::int64_t ranks) {
  const auto outcome = simulate::simulate(with_noise(scenario, ranks, 1), {.threads = 1});
  if (!outcome) return std::nullopt;
  return static_cast<double>(std::max<std::int64_t>(outcome->evaluated, 1));
}

/// Steps behind the first, which pays for what later ones find under way, and its part of the job's steps.
std::optional<Seconds> step_at(const model::Scenario& scenario, std::int64_t ranks, std::size_t replica) {
  model::Scenario s = with_noise(scenario, ranks, kSteps);
  s.seed += replica;
  const auto outcome = simulate::simulate(s, {.threads = 1});
  if (!outcome || outcome->step_ends.empty()) return std::nullopt;
  const auto& ends = outcome->step_ends;
  const Seconds first = ends.front() - outcome->started;
  if (ends.size() == 1) return first;
  const Seconds later = (ends.back() - ends.front()) / static_cast<double>(ends.size() - 1);
  return later + std::max(first - later, Seconds{}) / static_cast<double>(scenario.job.steps);
}

std::optional<CheckedSize> simulated_at(const model::Scenario& scenario, std::int64_t ranks,
                                        const TimeBand& by_parts, int threads) {
  std::vector<std::optional<Seconds>> found(kReplicas);
  parallel_for(kReplicas, threads, [&](std::size_t i) { found[i] = step_at(scenario, ranks, i); });
  std::vector<Seconds> steps;
  for (const std::optional<Seconds>& one : found) {
    if (!one) return std::nullopt;
    steps.push_back(*one);
  }
  const simulate::ReplicaSpread spread = simulate::spread_of(steps);
  return CheckedSize{.ranks = ranks,
                     .step = spread.mean,
                     .half_width = spread.half_width_95,
                     .by_parts = by_parts,
                     .forecast = by_parts};
}

/// Smooth from 0 to 1 with level ends.
double smooth(double t) {
  return t * t * (3 - 2 * t);
}

}  // namespace

bool varies(const model::Scenario& s) {
  const bool noisy = std::ranges::any_of(
      s.noise, [](const model::NoiseSource& n) { return !n.off && n.pattern != model::NoisePattern::Once; });
  return noisy && !model::plays_links(s, s.job.workload()) && !model::disturbs_messages(s);
}

std::vector<CheckedSize> simulate_far_sizes(const model::Scenario& scenario, std::int64_t from,
                                            std::int64_t asked,
                                            const std::function<TimeBand(std::int64_t ranks)>& forecast,
                                            int threads) {
  std::vector<CheckedSize> out;
  const std::int64_t half = from / 2;
  if (asked <= from || !varies(scenario) || from % 2 != 0 || half % unit_of(scenario) != 0) return out;
  const auto less = evaluated_at(scenario, half);
  const auto here = evaluated_at(scenario, from);
  if (!less || !here) return out;
  const double power = std::max(std::log2(*here / *less), 1.0);
  std::int64_t ranks = from;
  while (ranks < asked && ranks <= kMostRanks / kApart) {
    ranks *= kApart;
    const double evaluated = *here * std::pow(static_cast<double>(ranks) / static_cast<double>(from), power);
    if (evaluated > kMostEvaluated) break;
    auto one = simulated_at(scenario, ranks, forecast(ranks), threads);
    if (!one) break;
    out.push_back(*std::move(one));
  }
  return out;
}

OverPartsAt over_parts_far(OverPartsAt near, std::int64_t from, const std::vector<CheckedSize>& far) {
  struct Knot {
    double x;
    double y;
  };
  std::vector<Knot> knots{{std::log(static_cast<double>(from)), 0}};
  bool any = false;
  for (const CheckedSize& s : far) {
    const double over = over_parts_at(near, s.ranks);
    CheckedSize as_near = s;
    as_near.by_parts = {over * s.by_parts.value, over * s.by_parts.low, over * s.by_parts.high};
    const double y = as_near.agrees() ? 0 : std::log(s.step / as_near.by_parts.value);
    any = any || y != 0;
    knots.push_back({std::log(static_cast<double>(s.ranks)), y});
  }
  if (!any) return near;
  return [near = std::move(near), knots = std::move(knots)](std::int64_t ranks) {
    const double x = std::log(static_cast<double>(ranks));
    const auto above = std::ranges::upper_bound(knots, x, {}, &Knot::x);
    double y = above == knots.begin() ? 0 : knots.back().y;
    if (above != knots.begin() && above != knots.end()) {
      const Knot& a = *std::prev(above);
      y = a.y + (above->y - a.y) * smooth((x - a.x) / (above->x - a.x));
    }
    return over_parts_at(near, ranks) * std::exp(y);
  };
}

void widen_by_hidden(SizePoint& p, const CheckedSizes& simulated, const RestAt& rest) {
  const std::vector<CheckedSize> all = simulated.all();
  if (!p.refused.empty() || all.empty() || !rest || p.ranks <= all.back().ranks) return;
  const Seconds grown = rest(p.ranks).value - rest(all.back().ranks).value;
  const Seconds waits = p.mean.value * (1 - p.efficiency) - p.rest;
  const Seconds hidden = std::min(grown, waits);
  if (!(hidden > Seconds{})) return;
  for (TimeBand* band : {&p.mean, &p.median, &p.p95, &p.p99, &p.p999, &p.with_unseen, &p.with_shared})
    band->low = std::min(band->low, std::max(band->value - hidden, Seconds{}));
}

}  // namespace cox::forecast
