// SPDX-License-Identifier: Apache-2.0
#include "forecast/simulated/budget.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "cox/base/parallel.hpp"
#include "cox/base/stats.hpp"
#include "cox/simulate/outcome.hpp"
#include "cox/simulate/spread.hpp"

#include "forecast/regimes/simulated_scaling.hpp"
#include "forecast/scenario/resize.hpp"

namespace cox::forecast {
namespace {

constexpr double kProbe = 1 << 21;   ///< events of a step that is simulated to learn what a step costs
constexpr double kOnLinks = 8;       ///< events of max-plus in the time of one on links
constexpr double kStartOfRank = 60;  ///< events
constexpr double kStartOfPairOnLinks = 3.5;  ///< events
constexpr std::int64_t kSmall = 256;         ///< ranks of which a step is always cheap enough to be tried
constexpr int kReplicas = 8;
constexpr int kFewReplicas = 4;
constexpr int kFewestReplicas = 3;
constexpr int kLeastSteps = 4;
constexpr int kSettled =
    16;  ///< steps: the first are longer, since ranks that begin together have not come apart yet
constexpr double kTimesFewest = 4;
constexpr int kFewestSteps = 3;

/// Its steps alone, with the noise that the forecast has, too.
model::Scenario steps_of(const model::Scenario& scenario, Scaling scaling, std::int64_t ranks, int steps) {
  model::Scenario s = resized(scenario, ranks, scaling);
  std::erase_if(s.noise, [](const model::NoiseSource& n) { return n.pattern == model::NoisePattern::Once; });
  s.failures = {};
  s.start = {};
  s.replicas = 1;
  s.job.steps = std::min<decltype(s.job.steps)>(s.job.steps, steps);
  return s;
}

bool is_quiet(const model::Scenario& s) {
  return std::ranges::all_of(
      s.noise, [](const model::NoiseSource& n) { return n.off || n.pattern == model::NoisePattern::Once; });
}

/// Whether a run draws once what its steps have for good.
bool lasts(const model::Scenario& s) {
  return std::ranges::any_of(s.noise, [](const model::NoiseSource& n) {
    return !n.off && n.pattern == model::NoisePattern::Persistent;
  });
}

/// A step, mean over all of the job's, of the `played` ones.
Seconds mean_step(const simulate::Outcome& outcome, std::int64_t played, std::int64_t of_job) {
  const auto& ends = outcome.step_ends;
  if (std::ssize(ends) != played || played >= of_job)
    return outcome.total / static_cast<double>(std::max<std::int64_t>(played, 1));
  if (played == 1) return ends.front() - outcome.started;
  const auto first = static_cast<std::size_t>(std::max<std::int64_t>(played / 4, 1));
  const Seconds later = (ends.back() - ends[first - 1]) / static_cast<double>(ends.size() - first);
  const Seconds all = ends.back() - outcome.started + static_cast<double>(of_job - played) * later;
  return all / static_cast<double>(of_job);
}

/// By what the steps that a job has beyond those `played` may be other ones than these, in all replicas alike: half of 95 % of a step's mean. Of
/// fresh noise that is what replicas differ by, so it adds nothing there; on links that are shared steps differ without any noise.
Seconds beyond_played(const std::vector<simulate::Outcome>& outcomes, std::int64_t played,
                      std::int64_t of_job) {
  const auto first = static_cast<std::size_t>(std::max<std::int64_t>(played / 4, 1));
  Welford steps;  // of the mean over replicas
  for (std::size_t k = first; std::cmp_less(k, played) && played < of_job; ++k) {
    Seconds sum{};
    for (const simulate::Outcome& o : outcomes) {
      if (std::ssize(o.step_ends) != played) return {};
      sum += o.step_ends[k] - o.step_ends[k - 1];
    }
    steps.add(sum.count() / static_cast<double>(outcomes.size()));
  }
  if (steps.count() < 2) return {};
  const double left = static_cast<double>(of_job - played) / static_cast<double>(of_job);
  const auto n = static_cast<std::int64_t>(steps.count());
  return Seconds{left * student_quantile(0.025, n - 1) * steps.stddev() / std::sqrt(static_cast<double>(n))};
}

}  // namespace

bool drifts(const model::Scenario& s) {
  return std::ranges::any_of(
      s.noise, [](const model::NoiseSource& n) { return !n.off && n.pattern == model::NoisePattern::Drift; });
}

SimulationBudget::SimulationBudget(const model::Scenario& scenario, Scaling scaling)
    : scenario_(scenario), scaling_(scaling) {}

std::optional<SimulationBudget::Probe> SimulationBudget::probe(std::int64_t ranks) {
  const auto [at, fresh] = known_.try_emplace(ranks);
  if (!fresh) return at->second;
  const auto outcome = simulate::simulate(steps_of(scenario_, scaling_, ranks, 1), {.threads = 1});
  if (!outcome) return std::nullopt;
  Probe out{.events = static_cast<double>(std::max<std::int64_t>(outcome->evaluated, 1)),
            .on_links = outcome->engine == model::EngineKind::Flow};
  if (out.on_links) out.events *= kOnLinks;
  return at->second = out;
}

std::optional<SimulationBudget::Probe> SimulationBudget::step(std::int64_t ranks) {
  const std::int64_t unit = unit_of(scenario_);
  if (ranks <= std::max(kSmall, unit)) return probe(ranks);
  std::int64_t from = std::max<std::int64_t>(kSmall / (2 * unit), 1) * 2 * unit;
  while (true) {
    const std::int64_t half = from / 2;
    const auto less = probe(half), here = probe(from);
    if (!less || !here) return probe(ranks);  // such a size is none of the job's: then that which is asked
    const double power =
        less->on_links == here->on_links ? std::max(std::log2(here->events / less->events), 1.0) : 1.0;
    const auto goes_on = [&](std::int64_t to) {
      return here->events * std::pow(static_cast<double>(to) / static_cast<double>(from), power);
    };
    if (ranks <= from || goes_on(ranks) <= kProbe) return probe(ranks);
    if (2 * from >= ranks || goes_on(2 * from) > kProbe)
      return Probe{.events = goes_on(ranks), .on_links = here->on_links};
    from *= 2;
  }
}

std::optional<Plays> SimulationBudget::plays(std::int64_t ranks, double events, double most) {
  const auto step = this->step(ranks);
  if (!step) return std::nullopt;
  const auto n = static_cast<double>(ranks);
  const double start = kStartOfRank * n + (step->on_links ? kStartOfPairOnLinks * n * n : 0);
  const auto cost = [&](int replicas, int steps) { return replicas * (start + steps * step->events); };
  const int of_job = std::max(scenario_.job.steps, 1);
  const int at_least = drifts(scenario_) ? of_job : 1;
  const bool quiet = is_quiet(scenario_);
  const auto so_many = [&](int replicas, int steps) {
    return Plays{.replicas = replicas, .steps = steps, .events = cost(replicas, steps)};
  };
  const Plays fewest =
      so_many(quiet ? 1 : kFewestReplicas, std::max(std::min(of_job, kFewestSteps), at_least));
  if (fewest.events > most) return std::nullopt;
  // Three replicas of three steps say little: where that is all a budget pays for, four times as much is spent.
  const double spent = std::max(events, std::min(kTimesFewest * fewest.events, most));
  for (const auto& [replicas, least_steps] :
       {std::pair{kReplicas, kSettled}, std::pair{kFewReplicas, kLeastSteps}}) {
    const int of = quiet ? 1 : replicas;
    const double can = std::clamp((spent / of - start) / step->events, 0.0, 1e9);
    const int least = std::max(std::min(of_job, least_steps), at_least);
    if (can >= least) return so_many(of, std::min(static_cast<int>(can), of_job));
  }
  return fewest;
}

std::optional<CheckedSize> play_size(const model::Scenario& scenario, Scaling scaling, std::int64_t ranks,
                                     const Plays& plays, int threads) {
  std::vector<std::optional<simulate::Outcome>> found(static_cast<std::size_t>(plays.replicas));
  parallel_for(found.size(), threads, [&](std::size_t i) {
    model::Scenario one = steps_of(scenario, scaling, ranks, plays.steps);
    one.plays_links = model::engine_for(one) == model::EngineKind::Flow;
    one.seed += i;
    if (auto outcome = simulate::simulate(one, {.threads = 1})) found[i] = *std::move(outcome);
  });
  std::vector<simulate::Outcome> outcomes;
  for (auto& one : found) {
    if (!one) return std::nullopt;
    outcomes.push_back(*std::move(one));
  }
  std::vector<Seconds> steps;
  std::vector<std::optional<StepParts>> parts;
  CheckedSize out{.ranks = ranks};
  out.whole = is_played(scenario) && plays.steps >= scenario.job.steps;
  for (const simulate::Outcome& outcome : outcomes) {
    steps.push_back(mean_step(outcome, plays.steps, scenario.job.steps));
    out.lengths.merge(outcome.steps);
    parts.push_back(step_parts_of(outcome));
  }
  const simulate::ReplicaSpread spread = simulate::spread_of(steps);
  out.step = spread.mean;
  out.half_width = spread.half_width_95;
  if (const auto n = static_cast<std::int64_t>(steps.size());
      lasts(scenario) && n > 1)  // of one run, nine of ten
    out.half_width *= student_quantile(0.05, n - 1) / student_quantile(0.025, n - 1) *
                      std::sqrt(static_cast<double>(n) + 1);
  out.half_width = std::max(out.half_width, beyond_played(outcomes, plays.steps, scenario.job.steps));
  out.goes_into = mean_parts(parts);
  return out;
}

}  // namespace cox::forecast
