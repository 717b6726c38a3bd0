// SPDX-License-Identifier: Apache-2.0
#include "forecast/levers/levers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "cox/base/assert.hpp"

#include "forecast/checkpoints/drawn_failures.hpp"
#include "forecast/levers/effect.hpp"
#include "forecast/levers/nearest_margin.hpp"
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

/// Of a job much like one that does most work on `estimate` nodes: by golden section between an eighth and eight times as many.
double most_nodes_beside(const model::Scenario& s, double estimate) {
  const auto work = [&](double ln) {
    const std::int64_t nodes = std::max<std::int64_t>(1, std::llround(std::exp(ln)));
    const Interruptions costs = interruptions(s, nodes);
    return static_cast<double>(nodes) * wall_shares(costs, best_intervals(costs)).work;
  };
  constexpr double kGolden = 0.6180339887498949;
  constexpr int kSteps = 16;
  double low = std::log(std::max(estimate / 8, 1.0)), high = std::log(estimate * 8);
  double a = high - kGolden * (high - low), b = low + kGolden * (high - low);
  double at_a = work(a), at_b = work(b);
  for (int i = 0; i < kSteps; ++i) {
    if (at_a < at_b) {
      low = std::exchange(a, b);
      at_a = at_b;
      b = low + kGolden * (high - low);
      at_b = work(b);
    } else {
      high = std::exchange(b, a);
      at_b = at_a;
      a = high - kGolden * (high - low);
      at_a = work(a);
    }
  }
  return std::exp((low + high) / 2);
}

/// N* and its draws; none where it has none.
std::vector<double> add_most_nodes(const model::Scenario& s, const Prior& prior, LeverEffect& out) {
  out.most_nodes = most_nodes(s);
  std::vector<double> drawn;
  if (!out.most_nodes) return drawn;
  constexpr int kDraws = 20;
  for (const FailureDraw& draw : failure_draws(kDraws)) {
    model::Scenario one = s;
    draw.apply(stated_ranges(prior), one.failures);
    change_start(one.start, stated_ranges(prior).start.at(draw.start));
    drawn.push_back(most_nodes_beside(one, *out.most_nodes));
  }
  out.most_nodes_ends = ends_of(drawn, *out.most_nodes);
  return drawn;
}

/// Draw by draw.
void add_over(const std::vector<double>& drawn, const std::vector<double>& as_it_is,
              const LeverEffect& baseline, LeverEffect& out) {
  const std::optional<double> estimate = out.most_nodes_over(baseline);
  if (!estimate) return;
  std::vector<double> over(drawn.size());
  std::ranges::transform(drawn, as_it_is, over.begin(), std::divides<>());
  out.most_nodes_over_ends = ends_of(std::move(over), *estimate);
}

model::Scenario applied(model::Scenario scenario, const std::vector<const Lever*>& levers) {
  for (const Lever* lever : levers) lever->apply(scenario);
  return scenario;
}

constexpr double kSame = 1e-9;
constexpr int kRoughSeeds = 2;   ///< of a set of levers that may be far from a target
constexpr int kRoughSteps = 24;  ///< of which replicas that meet every eighth meet three times

/// Plays a scenario with sets of its levers. What changes failures and checkpoints alone leaves the steps: those are played once.
class Player {
 public:
  Player(const model::Scenario& scenario, const LeverOptions& options)
      : scenario_(scenario), options_(options) {}

  /// `without`: what this one is simulated without is left out; null = nothing is. Errors: those of `play_steps` and `with_failures`.
  Result<PlayedJob> play(const std::vector<const Lever*>& levers, const Lever* without = nullptr) {
    std::vector<const Lever*> of_steps = levers;
    std::erase_if(of_steps, [](const Lever* l) { return !l->of_steps; });
    std::string key = without != nullptr ? "without " + without->name : "";
    for (const Lever* lever : of_steps) key += "," + lever->name;
    auto known = steps_.find(key);
    if (known == steps_.end()) {
      model::Scenario changed = applied(scenario_, of_steps);
      if (without != nullptr) without->leave_out(changed);
      known = steps_.emplace(key, play_steps(changed, options_)).first;
    }
    if (!known->second) return fail(known->second.error());
    return with_failures(applied(scenario_, levers), *known->second);
  }
  /// Whether a lever is simulated without something that the job with these has.
  [[nodiscard]] bool leaves_out(const Lever& lever, const std::vector<const Lever*>& others) const {
    model::Scenario with_others = applied(scenario_, others);
    return lever.leave_out && lever.leave_out(with_others);
  }

 private:
  const model::Scenario& scenario_;
  const LeverOptions& options_;
  std::map<std::string, Result<std::vector<PlayedSteps>>, std::less<>> steps_;
};

/// A job with these levers, beside the job as it is. One of them may be simulated without something that the job has: it changes the job
/// with the others by what it changes that job without it.
Result<LeverEffect> effect_with(Player& player, const std::vector<const Lever*>& levers,
                                const PlayedJob& baseline) {
  COX_TRY(const PlayedJob all, player.play(levers));
  const auto alone = std::ranges::find_if(levers, [](const Lever* l) { return l->leave_out != nullptr; });
  if (alone == levers.end()) return effect_of(all, baseline);
  std::vector<const Lever*> others = levers;
  std::erase(others, *alone);
  if (!player.leaves_out(**alone, others)) return effect_of(all, baseline);
  COX_TRY(const PlayedJob beside, player.play(others, *alone));
  COX_TRY(const PlayedJob start, player.play(others));
  LeverEffect out = effect_of(changed_as(start, beside, all), baseline);
  const LeverRatio left_out = effect_of(beside, start).throughput;
  if (std::abs(left_out.value - 1) > kSame) out.one_sum = left_out;
  return out;
}

LeverEffect with(Player& player, const std::vector<const Lever*>& levers, const PlayedJob& baseline) {
  LeverEffect out;
  if (auto effect = effect_with(player, levers, baseline))
    out = *std::move(effect);
  else
    out.why_not = effect.error().message;
  std::string does, learning;
  for (const Lever* lever : levers) {
    out.names.push_back(lever->name);
    does += (does.empty() ? "" : "; ") + lever->does;
    if (!lever->learning.empty()) learning += (learning.empty() ? "" : "; ") + lever->learning;
  }
  if (out.one_sum)
    does += fmt::format(
        "; simulated, as the job that it is compared with, with {}, which alone is {:.3f} of the throughput",
        kOneSum, out.one_sum->value);
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
  Player player(scenario, options);
  COX_TRY(const PlayedJob baseline, player.play({}));
  LeverTable out;
  out.baseline = effect_of(baseline, baseline);
  const std::vector<double> as_it_is = add_most_nodes(scenario, options.prior, out.baseline);
  add_over(as_it_is, as_it_is, out.baseline, out.baseline);
  out.nodes = nodes_of(scenario);
  out.ranks = model::ranks_of(scenario.cluster, scenario.job.places);
  out.steps = scenario.job.steps;
  out.replicas = options.replicas;
  for (const Lever& lever : levers) {
    if (options.progress) options.progress(std::ssize(out.levers) + 1, std::ssize(levers) + 1);
    LeverEffect effect;
    if (lever.why_not.empty()) {
      effect = with(player, {&lever}, baseline);
      model::Scenario changed = scenario;
      lever.apply(changed);
      if (effect.why_not.empty())
        add_over(add_most_nodes(changed, options.prior, effect), as_it_is, out.baseline, effect);
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

Result<LeverEffect> effect_of_levers(const model::Scenario& scenario, const std::vector<std::string>& names,
                                     const LeverOptions& options) {
  const std::vector<Lever> all = levers_of(scenario);
  std::vector<const Lever*> levers;
  for (const std::string& name : names) {
    const auto at = std::ranges::find(all, name, &Lever::name);
    COX_ASSERT(at != all.end(), "the levers of a scenario have its names");
    levers.push_back(&*at);
  }
  Player player(scenario, options);
  COX_TRY(const PlayedJob baseline, player.play({}));
  return effect_with(player, levers, baseline);
}

Result<LeverSet> cheapest_levers(const model::Scenario& scenario, const Target& target,
                                 const LeverOptions& options) {
  Player player(scenario, options);
  COX_TRY(const PlayedJob baseline, player.play({}));
  const std::vector<Lever> all = levers_of(scenario);
  std::vector<Choice> choices;
  choices.reserve(all.size());
  for (const Lever& l : all)
    choices.push_back(
        {.name = l.name, .part = l.part, .why_not = l.why_not, .price = options.prices.of(l.name)});
  const auto effect_from = [&all](Player& by, const PlayedJob& as_it_is) {
    return [&all, &by, &as_it_is](const std::vector<std::size_t>& set) {
      std::vector<const Lever*> levers;
      levers.reserve(set.size());
      for (const std::size_t i : set) levers.push_back(&all[i]);
      return with(by, levers, as_it_is);
    };
  };
  const EffectOf in_full = effect_from(player, baseline);
  if (options.replicas <= kRoughSeeds)
    return cheapest_set(choices, effect_of(baseline, baseline), target, in_full, {}, options.progress);
  model::Scenario few = scenario;
  few.job.steps = std::min<decltype(few.job.steps)>(few.job.steps, kRoughSteps);
  LeverOptions rough_options = options;
  rough_options.replicas = kRoughSeeds;
  Player rough(few, rough_options);
  COX_TRY(const PlayedJob rough_baseline, rough.play({}));
  return cheapest_set(choices, effect_of(baseline, baseline), target, in_full,
                      effect_from(rough, rough_baseline), options.progress);
}

}  // namespace cox::forecast
