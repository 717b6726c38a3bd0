// SPDX-License-Identifier: Apache-2.0
// Workers whose updates are thrown away where they are too old: C.3 as it is described.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "evaluate/learning/computations.hpp"
#include "evaluate/learning/race.hpp"

namespace cox::evaluate {
namespace {

using study::Dimension;
using study::Quantity;

struct Crowd {
  Race race{};
  learn::DrawnSteps steps{};
  std::vector<int> bounds;
  std::vector<double> rates;
  int seeds = 2;
};

Result<Crowd> read_crowd(const study::Inputs& in) {
  Crowd s;
  COX_TRY(s.race.problem.dimension, in.count("dimension", {.least = 1, .most = 10'000}));
  COX_TRY(const int condition, in.count("condition", {.least = 1, .most = 1'000'000}));
  s.race.problem.condition = condition;
  COX_TRY(s.race.workers, in.count("workers", {.least = 2, .most = 1024}));
  COX_TRY(s.steps.mean, in.time("compute"));
  COX_TRY(s.steps.cv, in.ratio("coefficient of variation", {.above = 0, .most = 3}));
  COX_TRY(s.bounds, in.counts("bounds", {.least = 0, .most = 10'000}));
  COX_TRY(s.rates, in.ratios("rates tried", {.above = 0, .most = 2}));
  COX_TRY(s.race.target, in.ratio("target", {.above = 0, .most = 0.5}));
  COX_TRY(s.race.versions, in.count("most updates", {.least = 100, .most = 1'000'000}));
  COX_TRY(s.seeds, in.count("seeds", {.least = 2, .most = 100}));
  COX_CHECK(in.check_draws(
      static_cast<double>(s.race.versions) * static_cast<double>(s.race.problem.dimension) *
          static_cast<double>(s.bounds.size() * (s.rates.size() + static_cast<std::size_t>(s.seeds))),
      "most updates, dimension, bounds, rates tried and seeds"));
  constexpr std::int64_t kCalm = 25;  // of each worker
  s.race.calm = kCalm * s.race.workers;
  s.steps.law = learn::StepLaw::Lognormal;
  s.steps.workers = s.race.workers;
  if (s.steps.mean > Seconds{}) return s;
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "study-003",
                    .message = "input 'compute' is zero: nobody would ever be late",
                    .hint = "give a positive time",
                    .where = Where{.file = in.study().file}});
}

/// A rule and what came of it.
struct UnderBound {
  std::string name;
  Tuned result;
};

UnderBound run_bound(const Crowd& s, const model::PolicySpec& policy, std::string name, int threads) {
  const auto stream = [&](std::uint64_t seed) -> Stream {
    learn::DrawnSteps steps = s.steps;
    steps.seed = seed;
    return [=](const auto& take) { learn::stream_drawn(policy, steps, take); };
  };
  return {.name = std::move(name),
          .result = race_tuned(s.race, s.rates, s.seeds, stream, seconds_of, threads)};
}

double share(const Finish& f) {
  return static_cast<double>(f.discarded) / static_cast<double>(f.delivered);
}

void add_row(study::Computation& out, study::ValueTable& table, const UnderBound& row) {
  const Tuned& r = row.result;
  if (!r.reached()) {
    table.rows.push_back({row.name, "not at the target on every seed", "", "", "", ""});
    return;
  }
  add_learned(out, "updates-" + row.name, Dimension::Count, r.each(versions_of));
  add_learned(out, "thrown-away-" + row.name, Dimension::Ratio, r.each(share));
  add_learned(out, "mean-age-" + row.name, Dimension::Count,
              r.each([](const Finish& f) { return f.mean_age(); }));
  add_learned(out, "time-" + row.name, Dimension::Time, r.each(seconds_of));
  double oldest = 0;
  for (const Finish& f : r.runs) oldest = std::max(oldest, static_cast<double>(f.largest_age));
  table.rows.push_back({row.name, fmt::format("{:.3g}", r.rate), fmt::format("{:.0f}", r.mean(versions_of)),
                        to_string(Quantity::ratio(r.mean(share))), fmt::format("{:.0f}", oldest),
                        to_string(out.values.back().value)});
}

/// Updates that were applied, over those of the first bound.
void add_slowdown(study::Computation& out, const std::vector<UnderBound>& rows) {
  const UnderBound& first = rows.front();
  for (const UnderBound& r : rows)
    if (r.result.reached() && first.result.reached() && &r != &first)
      add_value(out, fmt::format("updates-{}-over-{}", r.name, first.name),
                Quantity::ratio(r.result.mean(versions_of) / first.result.mean(versions_of)), kLearning);
}

/// Without a bound: the oldest update, what is won over waiting, and the law that ages keep.
void add_without_bound(study::Computation& out, const Crowd& s, const Tuned& free, const Tuned& waits) {
  std::int64_t oldest = 0;
  for (const Finish& f : free.runs) oldest = std::max(oldest, f.largest_age);
  add_value(out, "largest-age", Quantity::count(static_cast<double>(oldest)), kLearning);
  if (!free.reached()) return;
  if (waits.reached())
    add_value(out, "time-over-waiting", Quantity::ratio(free.mean(seconds_of) / waits.mean(seconds_of)),
              kLearning);
  // Every applied update makes all other reads in flight one older: sum of ages + ages in flight = (N - 1) versions.
  const double n = s.race.workers;
  const Finish& f = free.runs.front();
  out.checks.push_back(
      {.name = "mean age against N - 1, ages in flight left out",
       .engine = Quantity::ratio(f.mean_age()),
       .oracle = Quantity::ratio(n - 1),
       .limit_ratio = n * static_cast<double>(f.largest_age) / (n - 1) / static_cast<double>(f.versions)});
}

}  // namespace

Result<study::Computation> compute_staleness_bound(const study::Inputs& in,
                                                   const study::ComputeOptions& options) {
  COX_TRY(const Crowd s, read_crowd(in));
  study::Computation out;
  study::ValueTable table{
      .title = "Bounds",
      .says = {},
      .columns = {"rule", "best rate", "updates", "thrown away", "oldest applied", "time"},
      .rows = {}};
  study::Series time{.name = "updates beyond the bound are thrown away", .x = {}, .y = {}};
  const UnderBound waits =
      run_bound(s, {.kind = model::PolicyKind::Synchronous}, "synchronous", options.threads);
  add_row(out, table, waits);
  std::vector<UnderBound> rows;
  for (const int bound : s.bounds) {
    rows.push_back(run_bound(s, {.kind = model::PolicyKind::BoundedDiscard, .staleness = bound},
                             fmt::format("bound{}", bound), options.threads));
    add_row(out, table, rows.back());
    if (!rows.back().result.reached()) continue;
    time.x.push_back(bound);
    time.y.push_back(out.values.back().value.in_base_unit());
  }
  const UnderBound free =
      run_bound(s, {.kind = model::PolicyKind::Asynchronous}, "no-bound", options.threads);
  add_row(out, table, free);
  add_slowdown(out, rows);
  add_without_bound(out, s, free.result, waits.result);
  table.says = fmt::format(
      "Rates are times the largest curvature; means over {} seeds. Bounds above the age of the oldest update throw nothing "
      "away and are no rule at all.",
      s.seeds);
  study::Series line{.name = "synchronous", .x = time.x, .y = {}};
  if (waits.result.reached()) line.y.assign(time.x.size(), waits.result.mean(seconds_of));
  out.picture = {.title = fmt::format("Time to the target, {} workers", s.race.workers),
                 .x_label = "bound on the age of an update",
                 .y_label = "seconds",
                 .y_is_log = true,
                 .series = {std::move(time), std::move(line)}};
  out.tables.push_back(std::move(table));
  out.notes = {
      "A run is at its target from where on the loss stays below for 25 versions a worker; one that swings crosses it before.",
      "An update's age is the number of versions made since its worker read.",
      "Gradients have no noise, so one is worth as much as the mean of all. Messages take no time; a worker whose update is thrown away reads and begins again.",
      "Rates are chosen on sixteen seeds, by the worst of them, that are not among those that are counted."};
  return out;
}

}  // namespace cox::evaluate
