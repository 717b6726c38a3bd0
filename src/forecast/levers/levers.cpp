// SPDX-License-Identifier: Apache-2.0
#include "forecast/levers/levers.hpp"

#include <algorithm>
#include <cmath>

#include "forecast/levers/effect.hpp"
#include "forecast/levers/set_search.hpp"

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

}  // namespace

Result<LeverTable> compare_levers(const model::Scenario& scenario, const LeverOptions& options) {
  return compare_levers(scenario, levers_of(scenario), options);
}

Result<LeverTable> compare_levers(const model::Scenario& scenario, const std::vector<Lever>& levers,
                                  const LeverOptions& options) {
  COX_TRY(const PlayedJob baseline, play(scenario, options));
  LeverTable out;
  out.baseline = effect_of(baseline, baseline);
  out.baseline.most_nodes = most_nodes(scenario);
  out.nodes = nodes_of(scenario);
  out.ranks = model::ranks_of(scenario.cluster, scenario.job.places);
  out.steps = scenario.job.steps;
  out.replicas = options.replicas;
  for (const Lever& lever : levers) {
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
    effect.price = options.prices.of(lever.name);
    out.levers.push_back(std::move(effect));
  }
  return out;
}

Result<LeverSet> cheapest_levers(const model::Scenario& scenario, const Target& target,
                                 const LeverOptions& options) {
  COX_TRY(const PlayedJob baseline, play(scenario, options));
  const std::vector<Lever> all = levers_of(scenario);
  std::vector<Choice> choices;
  choices.reserve(all.size());
  for (const Lever& l : all)
    choices.push_back(
        {.name = l.name, .part = l.part, .why_not = l.why_not, .price = options.prices.of(l.name)});
  return cheapest_set(choices, effect_of(baseline, baseline), target,
                      [&](const std::vector<std::size_t>& set) {
                        std::vector<const Lever*> levers;
                        levers.reserve(set.size());
                        for (const std::size_t i : set) levers.push_back(&all[i]);
                        return with(scenario, levers, baseline, options);
                      });
}

}  // namespace cox::forecast
