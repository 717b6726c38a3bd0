// SPDX-License-Identifier: Apache-2.0
#include "forecast/levers/set_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "cox/base/stats.hpp"

namespace cox::forecast {
namespace {

constexpr std::size_t kMostLevers = 3;
constexpr double kSamePrice = 1e-9;

double nan() {
  return std::numeric_limits<double>::quiet_NaN();
}

double figure_of(const LeverFigures& job, Target::Figure figure) {
  const auto time_of = [](Seconds s) { return s > Seconds{} ? s.count() : nan(); };
  switch (figure) {
    case Target::Figure::Mean:
      return time_of(job.mean);
    case Target::Figure::Median:
      return time_of(job.median);
    case Target::Figure::P95:
      return time_of(job.p95);
    case Target::Figure::P99:
      return time_of(job.p99);
    case Target::Figure::Cv:
      return job.cv;
    case Target::Figure::Throughput:
      return job.throughput;
    case Target::Figure::Cost:
      return job.cost;
    case Target::Figure::Energy:
      return job.energy > 0 ? job.energy : nan();
  }
  return 0;
}

/// At most 1 where it is reached; no number where a figure is not known.
double far_of(const LeverFigures& job, const Target& target, const LeverFigures& as_it_is) {
  const double have = figure_of(job, target.figure);
  const double bound = target.factor * (target.of_baseline ? figure_of(as_it_is, target.figure)
                                        : target.of        ? figure_of(job, *target.of)
                                                           : 1);
  return target.at_most ? have / bound : bound / have;
}

/// Draw by draw, where both have as many; else beside the one that the job as it is has.
std::vector<double> far_of_each(const std::vector<LeverFigures>& job, const Target& target,
                                const std::vector<LeverFigures>& as_it_is, const LeverFigures& now) {
  std::vector<double> out;
  for (std::size_t i = 0; i < job.size(); ++i)
    if (const double far = far_of(job[i], target, as_it_is.size() == job.size() ? as_it_is[i] : now);
        std::isfinite(far))
      out.push_back(far);
  return out;
}

/// Mean of logarithms and its interval; of the numbers themselves where one is zero.
LeverRatio mean_ratio(const std::vector<double>& far) {
  const bool positive = std::ranges::all_of(far, [](double x) { return x > 0; });
  Welford all;
  for (const double x : far) all.add(positive ? std::log(x) : x);
  const double half = far.size() > 1 ? student_half_width(all, 0.05) : 0;
  const auto back = [positive](double x) { return positive ? std::exp(x) : std::max(x, 0.0); };
  return {.value = back(all.mean()), .low = back(all.mean() - half), .high = back(all.mean() + half)};
}

constexpr double kRounding = 1e-12;

bool meets(double far) {
  return far <= 1 + kRounding;
}

/// By its value; what is not known is never there.
double distance(const LeverEffect& job) {
  return job.of_target ? job.of_target->value : std::numeric_limits<double>::infinity();
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
  const auto found = of_target(rough, target, as_it_is);
  const double far = found ? found->value : std::numeric_limits<double>::infinity();
  return far > open && far > nearest;
}

}  // namespace

std::optional<LeverRatio> of_target(const LeverEffect& job, const Target& target,
                                    const LeverEffect& as_it_is) {
  if (!job.why_not.empty() || job.range) return std::nullopt;
  if (!job.seeds.empty()) {
    const std::vector<double> far = far_of_each(job.seeds, target, as_it_is.seeds, as_it_is.now);
    return far.size() == job.seeds.size() ? std::optional(mean_ratio(far)) : std::nullopt;
  }
  const double value = far_of(job.now, target, as_it_is.now);
  if (!std::isfinite(value)) return std::nullopt;
  LeverRatio out{.value = value, .low = value, .high = value};
  for (std::size_t i = 0; i < job.draws.size(); ++i) {
    const std::vector<double> far = far_of_each(
        job.draws[i], target, i < as_it_is.draws.size() ? as_it_is.draws[i] : std::vector<LeverFigures>(),
        as_it_is.now);
    if (far.empty()) continue;
    out.low = std::min(out.low, quantile(far, 0.05));
    out.high = std::max(out.high, quantile(far, 0.95));
  }
  return out;
}

void add_target(LeverTable& table, const Target& target) {
  table.baseline.of_target = of_target(table.baseline, target, table.baseline);
  for (LeverEffect& e : table.levers) e.of_target = of_target(e, target, table.baseline);
}

bool reaches(const LeverEffect& job) {
  return job.of_target && meets(job.of_target->high);
}

bool perhaps_reaches(const LeverEffect& job) {
  return job.of_target && meets(job.of_target->value) && !meets(job.of_target->high);
}

LeverSet cheapest_set(const std::vector<Choice>& choices, const LeverEffect& as_it_is, const Target& target,
                      const EffectOf& effect_of, const EffectOf& rough, const SearchProgress& progress) {
  LeverSet out;
  out.best = as_it_is;
  out.best.of_target = of_target(as_it_is, target, as_it_is);
  double nearest = distance(out.best);
  out.already = out.reached = reaches(out.best);
  if (out.already) return out;
  if (perhaps_reaches(out.best)) out.perhaps = out.best;
  for (const Choice& c : choices)
    if (!c.why_not.empty()) out.left_out.push_back(c.name + ": " + c.why_not);
  std::vector<bool> failed(choices.size(), false);
  const std::vector<PricedSet> sets = by_price(choices);
  const LeverEffect roughly_as_it_is = rough ? rough({}) : LeverEffect();
  std::int64_t done = 0;
  for (const PricedSet& set : sets) {
    if (progress) progress(done++, static_cast<std::int64_t>(sets.size()));
    if (out.reached && set.price > out.best.price + kSamePrice) break;
    if (std::ranges::any_of(set.levers, [&](std::size_t i) { return failed[i]; })) continue;
    ++out.tried;
    if (rough && misses(rough(set.levers), target, roughly_as_it_is, out.reached ? 0 : nearest)) continue;
    LeverEffect effect = effect_of(set.levers);
    effect.price = set.price;
    if (!effect.why_not.empty()) {
      if (set.levers.size() > 1) continue;
      failed[set.levers.front()] = true;
      out.left_out.push_back(choices[set.levers.front()].name + ": " + effect.why_not);
      continue;
    }
    effect.of_target = of_target(effect, target, as_it_is);
    const double far = distance(effect);
    if (perhaps_reaches(effect)) {
      const bool first = !out.perhaps;
      const bool cheaper = !first && !out.perhaps->names.empty() &&
                           set.price <= out.perhaps->price + kSamePrice &&
                           effect.cost.value < out.perhaps->cost.value;
      if (first || cheaper) out.perhaps = effect;
    }
    const bool there = reaches(effect);
    const bool better =
        there ? !out.reached || effect.cost.value < out.best.cost.value : !out.reached && far < nearest;
    nearest = std::min(nearest, far);
    if (better) out.best = std::move(effect);
    out.reached = out.reached || there;
  }
  if (out.perhaps && out.reached && out.perhaps->price >= out.best.price - kSamePrice) out.perhaps.reset();
  if (out.perhaps && !out.reached) out.best = *out.perhaps;
  return out;
}

}  // namespace cox::forecast
