// SPDX-License-Identifier: Apache-2.0
#include "forecast/levers/set_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cox::forecast {
namespace {

constexpr std::size_t kMostLevers = 3;
constexpr double kSamePrice = 1e-9;

double ratio_of(const std::optional<LeverRatio>& r) {
  return r ? r->value : std::numeric_limits<double>::quiet_NaN();
}

double figure_of(const LeverEffect& job, Target::Figure figure) {
  const auto time_of = [](Seconds s) {
    return s > Seconds{} ? s.count() : std::numeric_limits<double>::quiet_NaN();
  };
  switch (figure) {
    case Target::Figure::Mean:
      return time_of(job.step_mean);
    case Target::Figure::Median:
      return time_of(job.step_median);
    case Target::Figure::P95:
      return time_of(job.step_p95);
    case Target::Figure::P99:
      return time_of(job.step_p99);
    case Target::Figure::Cv:
      return job.cv_now;
    case Target::Figure::Throughput:
      return job.throughput.value;
    case Target::Figure::Cost:
      return job.cost.value;
    case Target::Figure::Energy:
      return ratio_of(job.energy);
  }
  return 0;
}

/// How far from the target: at most 1 where it is reached. What is not known is never there.
double distance(const LeverEffect& job, const Target& target, const LeverEffect& baseline) {
  const double have = figure_of(job, target.figure);
  const double bound = target.factor * (target.of_baseline ? figure_of(baseline, target.figure)
                                        : target.of        ? figure_of(job, *target.of)
                                                           : 1);
  const double far = target.at_most ? have / bound : bound / have;
  return std::isnan(far) ? std::numeric_limits<double>::infinity() : far;
}

struct PricedSet {
  double price = 0;
  std::vector<std::size_t> levers;
};

/// Adds `set` and what it becomes with levers of other parts behind its last one.
void add_sets(const std::vector<Choice>& choices, std::size_t first, const PricedSet& set,
              std::vector<PricedSet>& out) {
  if (!set.levers.empty()) out.push_back(set);
  if (set.levers.size() == kMostLevers) return;
  for (std::size_t i = first; i < choices.size(); ++i) {
    const bool taken = std::ranges::any_of(
        set.levers, [&](std::size_t other) { return choices[other].part == choices[i].part; });
    if (taken || !choices[i].why_not.empty()) continue;
    PricedSet more = set;
    more.price += choices[i].price;
    more.levers.push_back(i);
    add_sets(choices, i + 1, more, out);
  }
}

std::vector<PricedSet> by_price(const std::vector<Choice>& choices) {
  std::vector<PricedSet> sets;
  add_sets(choices, 0, {}, sets);
  std::ranges::stable_sort(sets, [](const PricedSet& a, const PricedSet& b) {
    if (std::abs(a.price - b.price) > kSamePrice) return a.price < b.price;
    return a.levers.size() < b.levers.size();
  });
  return sets;
}

/// Whether a rough answer is so far from the target, and from the nearest there is, that a full one is not asked for.
bool misses(const LeverEffect& rough, const Target& target, const LeverEffect& as_it_is, double nearest) {
  using enum Target::Figure;
  const bool of_few = target.figure == P95 || target.figure == P99 || target.figure == Cv;
  const double open = of_few ? 1.25 : 1.1;
  if (!rough.why_not.empty()) return false;
  const double far = distance(rough, target, as_it_is);
  return far > open && far > nearest;
}

}  // namespace

bool reaches(const LeverEffect& job, const Target& target) {
  LeverEffect as_it_is;
  as_it_is.energy = LeverRatio{};
  return job.why_not.empty() && distance(job, target, as_it_is) <= 1 + 1e-12;
}

LeverSet cheapest_set(const std::vector<Choice>& choices, const LeverEffect& as_it_is, const Target& target,
                      const EffectOf& effect_of, const EffectOf& rough) {
  LeverSet out;
  out.best = as_it_is;
  double nearest = distance(as_it_is, target, as_it_is);
  out.already = out.reached = nearest <= 1;
  if (out.already) return out;
  for (const Choice& c : choices)
    if (!c.why_not.empty()) out.left_out.push_back(c.name + ": " + c.why_not);
  std::vector<bool> failed(choices.size(), false);
  for (const PricedSet& set : by_price(choices)) {
    if (out.reached && set.price > out.best.price + kSamePrice) break;
    if (std::ranges::any_of(set.levers, [&](std::size_t i) { return failed[i]; })) continue;
    ++out.tried;
    if (rough && misses(rough(set.levers), target, as_it_is, out.reached ? 0 : nearest)) continue;
    LeverEffect effect = effect_of(set.levers);
    effect.price = set.price;
    if (!effect.why_not.empty()) {
      if (set.levers.size() > 1) continue;
      failed[set.levers.front()] = true;
      out.left_out.push_back(choices[set.levers.front()].name + ": " + effect.why_not);
      continue;
    }
    const double far = distance(effect, target, as_it_is);
    const bool there = far <= 1;
    const bool better =
        there ? !out.reached || effect.cost.value < out.best.cost.value : !out.reached && far < nearest;
    if (!there) nearest = std::min(nearest, far);
    if (better) out.best = std::move(effect);
    out.reached = out.reached || there;
  }
  return out;
}

}  // namespace cox::forecast
