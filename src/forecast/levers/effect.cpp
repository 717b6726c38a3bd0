// SPDX-License-Identifier: Apache-2.0
#include "forecast/levers/effect.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

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

Result<PlayedSeed> play_seed(const model::Scenario& scenario, std::uint64_t seed, int threads) {
  constexpr double kSteps = 1e6;  // so many that whole steps are as good as parts of them
  model::Scenario steps = scenario;
  steps.failures = {};
  steps.start = {};
  steps.replicas = 1;
  steps.seed = seed;
  COX_TRY(const simulate::Outcome o, simulate::simulate(steps, {.threads = threads}));
  if (o.step_ends.empty())
    return fail({.code = Errc::Unsupported,
                 .id = "forecast-034",
                 .message = "the engine tells no ends of steps",
                 .hint = "give a scenario of training steps, or of collectives",
                 .where = std::nullopt});
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
  const StepBudget step = budget_of_steps(o, Seconds{out.mean}, samples_of(scenario));
  model::Scenario job = scenario;
  job.start = {};
  COX_TRY(const Days whole, days(
                                job, [&](std::int64_t) { return Result<StepBudget>(step); },
                                step.tokens * kSteps, std::max(nodes_of(scenario), 1), true));
  out.rate = whole.tokens / whole.total.count();
  out.cost = whole.node_hours * 3600 / whole.tokens;
  out.rework = whole.parts[static_cast<std::size_t>(DaysPart::Rework)].count() / whole.tokens;
  if (whole.energy && !o.groups.empty()) out.energy = whole.energy->in_joules() / whole.tokens;
  return out;
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

double mean_of(const PlayedJob& job, double PlayedSeed::*figure) {
  double sum = 0;
  for (const PlayedSeed& s : job.seeds) sum += s.*figure;
  return sum / static_cast<double>(job.seeds.size());
}

}  // namespace

Result<PlayedJob> play(const model::Scenario& scenario, const LeverOptions& options) {
  PlayedJob out;
  out.fails = scenario.failures.happen();
  for (int i = 0; i < options.replicas; ++i) {
    COX_TRY(const PlayedSeed seed,
            play_seed(scenario, options.seed + static_cast<std::uint64_t>(i), options.threads));
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
  out.step_mean = Seconds{mean_of(job, &PlayedSeed::mean)};
  out.step_median = Seconds{mean_of(job, &PlayedSeed::median)};
  out.step_p95 = Seconds{mean_of(job, &PlayedSeed::p95)};
  out.step_p99 = Seconds{mean_of(job, &PlayedSeed::p99)};
  out.cv_now = mean_of(job, &PlayedSeed::cv);
  return out;
}

}  // namespace cox::forecast
