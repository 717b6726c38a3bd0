// SPDX-License-Identifier: Apache-2.0
#include "cox/forecast/levers.hpp"

#include <algorithm>
#include <cmath>

#include "forecast/levers/effect.hpp"

namespace cox::forecast {
namespace {

std::optional<double> most_nodes(const model::Scenario& s) {
  constexpr std::int64_t kMost = 1 << 20;
  if (!s.failures.happen()) return std::nullopt;
  const auto most = most_work(s, kMost);
  if (!most || most->censored) return std::nullopt;
  return static_cast<double>(most->nodes);
}

/// A job with these levers, beside the job as it is.
LeverEffect with(const model::Scenario& scenario, const std::vector<const Lever*>& levers,
                 const PlayedJob& baseline, const LeverOptions& options) {
  LeverEffect out;
  model::Scenario changed = scenario;
  std::string does, learning;
  for (const Lever* lever : levers) {
    lever->apply(changed);
    does += (does.empty() ? "" : "; ") + lever->does;
    if (!lever->learning.empty()) learning += (learning.empty() ? "" : "; ") + lever->learning;
  }
  const auto played = play(changed, options);
  if (played)
    out = effect_of(*played, baseline);
  else
    out.why_not = played.error().message;
  for (const Lever* lever : levers) out.names.push_back(lever->name);
  out.does = std::move(does);
  out.learning = std::move(learning);
  return out;
}

double figure_of(const LeverEffect& job, Target::Figure figure) {
  switch (figure) {
    case Target::Figure::Mean:
      return job.step_mean.count();
    case Target::Figure::Median:
      return job.step_median.count();
    case Target::Figure::P95:
      return job.step_p95.count();
    case Target::Figure::P99:
      return job.step_p99.count();
    case Target::Figure::Cv:
      return job.cv_now;
    case Target::Figure::Throughput:
      return job.throughput.value;
    case Target::Figure::Cost:
      return job.cost.value;
    case Target::Figure::Energy:
      return job.energy ? job.energy->value : std::numeric_limits<double>::quiet_NaN();
  }
  return 0;
}

/// How far from the target: at most 1 where it is reached. A step of NaN is never there.
double distance(const LeverEffect& job, const Target& target, const LeverEffect& baseline) {
  const double have = figure_of(job, target.figure);
  const double bound = target.factor * (target.of_baseline ? figure_of(baseline, target.figure)
                                        : target.of        ? figure_of(job, *target.of)
                                                           : 1);
  const double far = target.at_most ? have / bound : bound / have;
  return std::isnan(far) ? std::numeric_limits<double>::infinity() : far;
}

/// Sets of `size` levers of different parts, in order.
void sets_of(const std::vector<const Lever*>& from, std::size_t size, std::size_t first,
             std::vector<const Lever*>& now, std::vector<std::vector<const Lever*>>& out) {
  if (now.size() == size) {
    out.push_back(now);
    return;
  }
  for (std::size_t i = first; i < from.size(); ++i) {
    const bool taken =
        std::any_of(now.begin(), now.end(), [&](const Lever* l) { return l->part == from[i]->part; });
    if (taken) continue;
    now.push_back(from[i]);
    sets_of(from, size, i + 1, now, out);
    now.pop_back();
  }
}

}  // namespace

bool reaches(const LeverEffect& job, const Target& target) {
  LeverEffect as_it_is;
  as_it_is.energy = LeverRatio{};
  return job.why_not.empty() && distance(job, target, as_it_is) <= 1 + 1e-12;
}

Result<LeverTable> compare_levers(const model::Scenario& scenario, const LeverOptions& options) {
  COX_TRY(const PlayedJob baseline, play(scenario, options));
  LeverTable out;
  out.baseline = effect_of(baseline, baseline);
  out.baseline.most_nodes = most_nodes(scenario);
  out.nodes = nodes_of(scenario);
  out.steps = scenario.job.steps;
  out.replicas = options.replicas;
  for (const Lever& lever : levers_of(scenario)) {
    LeverEffect effect;
    if (lever.why_not.empty()) {
      effect = with(scenario, {&lever}, baseline, options);
      model::Scenario changed = scenario;
      lever.apply(changed);
      if (effect.why_not.empty()) effect.most_nodes = most_nodes(changed);
    } else {
      effect.names = {lever.name};
      effect.does = lever.does;
      effect.learning = lever.learning;
      effect.why_not = lever.why_not;
    }
    out.levers.push_back(std::move(effect));
  }
  return out;
}

Result<LeverSet> cheapest_levers(const model::Scenario& scenario, const Target& target,
                                 const LeverOptions& options) {
  COX_TRY(const PlayedJob baseline, play(scenario, options));
  LeverSet out;
  out.best = effect_of(baseline, baseline);
  const LeverEffect as_it_is = out.best;
  out.already = out.reached = distance(as_it_is, target, as_it_is) <= 1;
  if (out.already) return out;
  const std::vector<Lever> all = levers_of(scenario);
  std::vector<const Lever*> usable;
  for (const Lever& lever : all)
    if (lever.why_not.empty())
      usable.push_back(&lever);
    else
      out.left_out.push_back(lever.name + ": " + lever.why_not);
  double nearest = distance(as_it_is, target, as_it_is);
  std::vector<const Lever*> failed;
  for (std::size_t size = 1; size <= 3 && !out.reached; ++size) {
    std::vector<std::vector<const Lever*>> sets;
    std::vector<const Lever*> now;
    sets_of(usable, size, 0, now, sets);
    for (const auto& set : sets) {
      const bool skip = std::any_of(set.begin(), set.end(), [&](const Lever* l) {
        return std::find(failed.begin(), failed.end(), l) != failed.end();
      });
      if (skip) continue;
      ++out.tried;
      LeverEffect effect = with(scenario, set, baseline, options);
      if (!effect.why_not.empty()) {
        if (size == 1) {
          failed.push_back(set.front());
          out.left_out.push_back(set.front()->name + ": " + effect.why_not);
        }
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
  }
  return out;
}

}  // namespace cox::forecast
