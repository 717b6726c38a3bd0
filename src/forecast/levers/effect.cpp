// SPDX-License-Identifier: Apache-2.0
#include "forecast/levers/effect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cox/base/number_text.hpp"
#include "cox/base/parallel.hpp"
#include "cox/base/stats.hpp"
#include "cox/simulate/outcome.hpp"

namespace cox::forecast {
namespace {

/// Of a step; any unit that is the same with and without a lever.
double samples_of(const model::Scenario& s) {
  const auto* job = std::get_if<model::TrainingJob>(&s.job.work);
  if (job == nullptr) return 1;
  const int lost = s.policy.kind == model::PolicyKind::Backup ? s.policy.backups : 0;
  return static_cast<double>(job->layout.data - lost * job->replicas_per_worker()) * job->micro_batches;
}

/// States of a rank's time, scaled to a mean step: ends that are not common leave out what the states do not hold.
StepBudget budget_of_steps(const simulate::Outcome& o, Seconds mean, double samples) {
  StepBudget out{.compute = mean, .communication = {}, .waiting = {}, .tokens = samples};
  Seconds busy{}, exposed{}, waiting{};
  for (const simulate::GroupTime& g : o.groups) {
    busy += g.busy * static_cast<double>(g.ranks);
    exposed += g.exposed * static_cast<double>(g.ranks);
    waiting += g.waiting * static_cast<double>(g.ranks);
  }
  const Seconds all = busy + exposed + waiting;
  if (all <= Seconds{}) return out;
  out.compute = mean * (busy / all);
  out.communication = mean * (exposed / all);
  out.waiting = mean * (waiting / all);
  return out;
}

/// A coefficient of variation below is of rounding, not of noise.
constexpr double kRounding = 1e-9;

tl::unexpected<Error> not_played(std::string message, std::string hint) {
  return fail({.code = Errc::Unsupported,
               .id = "forecast-034",
               .message = std::move(message),
               .hint = std::move(hint),
               .where = std::nullopt});
}

/// Messages of workers to servers and back, each of which is one that shares links with all others: a few dozen microseconds.
constexpr double kMostServed = 1 << 21;

/// What a job of two nodes with this policy is played by.
bool plays_servers_on_links(const model::Scenario& s) {
  auto small = at_nodes(s, 2, BatchRule::Grows);
  if (!small) return false;
  small->policy.servers = 2;
  small->job.steps = 1;
  small->replicas = 1;
  small->failures = {};
  small->start = {};
  const auto outcome = simulate::simulate(*small, {.threads = 1});
  return outcome && outcome->engine == model::EngineKind::Flow;
}

Status check_servers(const model::Scenario& s, int seeds) {
  const auto* job = std::get_if<model::TrainingJob>(&s.job.work);
  if (job == nullptr || !s.policy.has_servers()) return {};
  const double messages = 2.0 * job->layout.data * std::max(1, s.policy.servers);
  if (messages * static_cast<double>(s.job.steps) * seeds <= kMostServed || !plays_servers_on_links(s))
    return {};
  return not_played(fmt::format("{} messages of a step share links, so {} seeds of {} steps take too long",
                                grouped(std::llround(messages)), seeds, grouped(s.job.steps)),
                    "fewer steps (--set job.steps), or `cox simulate` with the policy");
}

Result<PlayedSteps> play_seed(const model::Scenario& scenario, std::uint64_t seed, int threads) {
  model::Scenario steps = scenario;
  steps.failures = {};
  steps.start = {};
  steps.replicas = 1;
  steps.seed = seed;
  COX_TRY(const simulate::Outcome o, simulate::simulate(steps, {.threads = threads}));
  if (o.step_ends.empty())
    return not_played("the engine tells no ends of steps",
                      "give a scenario of training steps, or of collectives");
  std::vector<double> lengths;
  Seconds before = o.started;
  Welford spread;
  for (const Seconds end : o.step_ends) {
    lengths.push_back((end - before).count());
    spread.add(lengths.back());
    before = end;
  }
  PlayedSeed out{.mean = spread.mean(),
                 .median = quantile(lengths, 0.5),
                 .p95 = quantile(lengths, 0.95),
                 .p99 = quantile(lengths, 0.99),
                 .cv = lengths.size() > 1 && spread.cv() > kRounding ? spread.cv() : 0};
  if (!o.groups.empty()) out.energy = 1;  // states are told
  return PlayedSteps{.figures = out, .step = budget_of_steps(o, Seconds{out.mean}, samples_of(scenario))};
}

/// Of b over a, seed by seed. Where any is zero there is no ratio.
std::optional<LeverRatio> ratio_of(const PlayedJob& a, const PlayedJob& b, double PlayedSeed::*figure) {
  Welford logs;
  for (std::size_t i = 0; i < a.seeds.size(); ++i) {
    const double from = a.seeds[i].*figure, to = b.seeds[i].*figure;
    if (!(from > 0) || !(to > 0)) return std::nullopt;
    logs.add(std::log(to / from));
  }
  const double half = student_half_width(logs, 0.05);
  return LeverRatio{.value = std::exp(logs.mean()),
                    .low = std::exp(logs.mean() - half),
                    .high = std::exp(logs.mean() + half)};
}

}  // namespace

Result<std::vector<PlayedSteps>> play_steps(const model::Scenario& scenario, const LeverOptions& options) {
  COX_CHECK(check_servers(scenario, options.replicas));
  std::vector<std::optional<Result<PlayedSteps>>> seeds(
      static_cast<std::size_t>(std::max(options.replicas, 0)));
  parallel_for(seeds.size(), options.threads,
               [&](std::size_t i) { seeds[i] = play_seed(scenario, options.seed + i, 1); });
  std::vector<PlayedSteps> out;
  for (std::optional<Result<PlayedSteps>>& seed : seeds) {
    COX_TRY(PlayedSteps one, *std::move(seed));
    out.push_back(std::move(one));
  }
  return out;
}

Result<PlayedJob> with_failures(const model::Scenario& scenario, const std::vector<PlayedSteps>& steps) {
  constexpr double kSteps = 1e6;  // so many that whole steps are as good as parts of them
  PlayedJob out;
  out.fails = scenario.failures.happen();
  model::Scenario job = scenario;
  job.start = {};
  for (const PlayedSteps& played : steps) {
    const StepBudget& step = played.step;
    COX_TRY(const Days whole, days(
                                  job, [&](std::int64_t) { return Result<StepBudget>(step); },
                                  step.tokens * kSteps, std::max(nodes_of(scenario), 1), true));
    PlayedSeed seed = played.figures;
    seed.rate = whole.tokens / whole.total.count();
    seed.cost = whole.node_hours * 3600 / whole.tokens;
    seed.rework = whole.parts[static_cast<std::size_t>(DaysPart::Rework)].count() / whole.tokens;
    seed.energy = whole.energy && seed.energy > 0 ? whole.energy->in_joules() / whole.tokens : 0;
    out.seeds.push_back(seed);
  }
  return out;
}

PlayedJob changed_as(PlayedJob job, const PlayedJob& from, const PlayedJob& to) {
  for (std::size_t i = 0; i < job.seeds.size(); ++i)
    for (double PlayedSeed::*figure :
         {&PlayedSeed::mean, &PlayedSeed::median, &PlayedSeed::p95, &PlayedSeed::p99, &PlayedSeed::cv,
          &PlayedSeed::rate, &PlayedSeed::cost, &PlayedSeed::rework, &PlayedSeed::energy}) {
      double& one = job.seeds[i].*figure;
      const double before = from.seeds[i].*figure;
      const double after = to.seeds[i].*figure;
      one = before > 0 ? one * (after / before) : after;
    }
  return job;
}

LeverEffect effect_of(const PlayedJob& job, const PlayedJob& baseline) {
  LeverEffect out;
  out.throughput = ratio_of(baseline, job, &PlayedSeed::rate).value_or(LeverRatio{});
  out.step = ratio_of(baseline, job, &PlayedSeed::mean).value_or(LeverRatio{});
  out.p99 = ratio_of(baseline, job, &PlayedSeed::p99);
  out.cost = ratio_of(baseline, job, &PlayedSeed::cost).value_or(LeverRatio{});
  out.cv = ratio_of(baseline, job, &PlayedSeed::cv);
  if (baseline.fails && job.fails) out.rework = ratio_of(baseline, job, &PlayedSeed::rework);
  out.energy = ratio_of(baseline, job, &PlayedSeed::energy);
  for (std::size_t i = 0; i < job.seeds.size(); ++i) {
    const PlayedSeed &one = job.seeds[i], &before = baseline.seeds[i];
    out.seeds.push_back({.mean = Seconds{one.mean},
                         .median = Seconds{one.median},
                         .p95 = Seconds{one.p95},
                         .p99 = Seconds{one.p99},
                         .cv = one.cv,
                         .throughput = one.rate / before.rate,
                         .cost = one.cost / before.cost,
                         .energy = before.energy > 0 ? one.energy / before.energy : 0});
  }
  return out;
}

}  // namespace cox::forecast
