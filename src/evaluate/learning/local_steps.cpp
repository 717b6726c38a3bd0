// SPDX-License-Identifier: Apache-2.0
// Several local steps between two meetings: C.7.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "evaluate/learning/computations.hpp"
#include "evaluate/learning/race.hpp"

namespace cox::evaluate {
namespace {

using study::Dimension;
using study::Quantity;

struct Locals {
  Race race{};
  Seconds compute{};
  Seconds message{};
  std::vector<int> steps;       ///< between meetings
  std::vector<int> iterations;  ///< as printed, for each of them
  std::vector<double> rates;
  double hessian_spread = 0;
  double spread = 0;
  double noise = 0;
  double coarse_target = 0;  ///< where unlike optima leave a bias
  int seeds = 2;
};

Result<Locals> read_locals(const study::Inputs& in) {
  Locals l;
  COX_TRY(l.race.problem.dimension, in.count("dimension", {.least = 1, .most = 10'000}));
  COX_TRY(const int condition, in.count("condition", {.least = 1, .most = 1'000'000}));
  l.race.problem.condition = condition;
  COX_TRY(l.race.workers, in.count("workers", {.least = 2, .most = 256}));
  l.race.problem.workers = l.race.workers;
  COX_TRY(l.compute, in.time("compute"));
  COX_TRY(l.message, in.time("message"));
  COX_TRY(l.steps, in.counts("local steps", {.least = 1, .most = 10'000}));
  COX_TRY(l.iterations, in.counts("iterations as printed", {.least = 1, .most = 1'000'000'000}));
  COX_TRY(l.rates, in.ratios("rates tried", {.above = 0, .most = 2}));
  COX_TRY(l.hessian_spread, in.ratio("spread of curvatures", {.above = 0, .most = 0.99}));
  COX_TRY(l.spread, in.ratio("spread of optima", {.above = 0, .most = 100}));
  COX_TRY(l.noise, in.ratio("noise", {.above = 0, .most = 100}));
  COX_TRY(l.race.target, in.ratio("target", {.above = 0, .most = 0.5}));
  COX_TRY(l.coarse_target, in.ratio("target with unlike optima", {.above = 0, .most = 0.5}));
  COX_TRY(l.race.versions, in.count("most meetings", {.least = 100, .most = 1'000'000}));
  COX_TRY(l.seeds, in.count("seeds", {.least = 2, .most = 100}));
  COX_CHECK(
      in.check_draws(static_cast<double>(l.race.versions) * static_cast<double>(l.race.problem.dimension) *
                         static_cast<double>(l.steps.size() * l.rates.size()),
                     "most meetings, dimension, local steps and rates tried"));
  if (l.steps.size() == l.iterations.size() && l.compute > Seconds{} && l.steps.front() == 1) return l;
  return fail(Error{
      .code = Errc::InvalidInput,
      .id = "study-003",
      .message =
          "'iterations as printed' has another length than 'local steps', those do not begin with 1, or "
          "'compute' is zero",
      .hint = "give one number of iterations for each of 1, ... local steps, and a positive time",
      .where = Where{.file = in.study().file}});
}

/// What workers differ in.
struct Kind {
  const char* name;
  const char* title;
  bool curvatures = false;
  bool optima = false;
  bool noise = false;
};
constexpr Kind kKinds[] = {{"alike", "workers alike", false, false, false},
                           {"curvatures", "unlike curvatures", true, false, false},
                           {"optima", "unlike curvatures and optima", true, true, false},
                           {"noise", "unlike curvatures, noise", true, false, true}};

Tuned run_kind(const Locals& l, const Kind& kind, int local_steps, int threads) {
  Race race = l.race;
  race.way.policy = {.kind = model::PolicyKind::LocalSgd, .local_steps = local_steps};
  if (kind.curvatures) race.problem.hessian_spread = l.hessian_spread;
  if (kind.optima) race.problem.spread = l.spread;
  if (kind.optima) race.target = l.coarse_target;
  if (kind.noise) race.problem.noise = l.noise;
  const auto stream = [&](std::uint64_t) -> Stream {
    return [&, policy = race.way.policy](const auto& take) {
      learn::stream_drawn(policy, {.workers = l.race.workers, .mean = l.compute, .message = l.message}, take);
    };
  };
  if (kind.noise) return race_tuned(race, l.rates, l.seeds, stream, seconds_of, threads, 2);
  // nothing is drawn but the optima, and these once
  const auto best = race_best(race, l.rates, stream(0), seconds_of, 1.01);
  if (!best) return {};
  return {.rate = best->rate, .runs = {best->finish}};
}

/// With an interval where there are several runs.
void add_runs(study::Computation& out, std::string name, Dimension d, const Tuned& r, const Cost& value) {
  if (r.runs.size() > 1)
    add_learned(out, std::move(name), d, r.each(value));
  else
    add_value(out, std::move(name), Quantity(d, r.mean(value)), kLearning);
}

/// Message over compute from which one of the numbers of local steps beats meeting after each: steps S_K each take
/// compute + message / K.
std::optional<double> pays_from(const std::vector<int>& local_steps, const std::vector<double>& steps) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < local_steps.size(); ++i) {
    const double saved = steps[0] - steps[i] / local_steps[i];
    if (steps[i] > 0 && saved > 0) least = std::min(least, std::max(0.0, (steps[i] - steps[0]) / saved));
  }
  if (std::isinf(least)) return std::nullopt;
  return least;
}

void add_kind(study::Computation& out, study::ValueTable& table, study::Series& line, const Locals& l,
              const Kind& kind, int threads) {
  std::vector<std::string> row = {kind.title};
  std::vector<double> steps;
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < l.steps.size(); ++i) {
    const int k = l.steps[i];
    const Tuned r = run_kind(l, kind, k, threads);
    steps.push_back(r.reached() ? r.mean(steps_of) : 0);
    if (!r.reached()) {
      row.push_back("not reached");
      continue;
    }
    add_runs(out, fmt::format("steps-{}-k{}", kind.name, k), Dimension::Count, r, steps_of);
    add_runs(out, fmt::format("time-{}-k{}", kind.name, k), Dimension::Time, r, seconds_of);
    row.push_back(fmt::format("{:.0f}, {}", steps.back(), to_string(out.values.back().value)));
    const double time = r.mean(seconds_of);
    line.x.push_back(k);
    line.y.push_back(time);
    if (time < least) {
      least = time;
      best = i;
    }
  }
  if (!std::isinf(least)) {
    add_value(out, fmt::format("best-k-{}", kind.name), Quantity::count(l.steps[best]), kLearning);
    row.push_back(fmt::format("{}", l.steps[best]));
  } else {
    row.push_back("none");
  }
  if (steps.front() > 0)
    if (const auto from = pays_from(l.steps, steps))
      add_value(out, fmt::format("pays-from-{}", kind.name), Quantity::ratio(*from), kLearning);
  table.rows.push_back(std::move(row));
}

}  // namespace

Result<study::Computation> compute_local_steps(const study::Inputs& in,
                                               const study::ComputeOptions& options) {
  COX_TRY(const Locals l, read_locals(in));
  study::Computation out;
  study::Series printed{.name = "printed iterations", .x = {}, .y = {}};
  for (std::size_t i = 0; i < l.steps.size(); ++i) {
    const Seconds time = (l.compute + l.message / l.steps[i]) * l.iterations[i];
    add_value(out, fmt::format("time-of-printed-k{}", l.steps[i]), Quantity::of(time), kClosedForm);
    printed.x.push_back(l.steps[i]);
    printed.y.push_back(time.count());
    printed.of.push_back(fmt::format("time-of-printed-k{}", l.steps[i]));
  }
  const auto fastest = static_cast<std::size_t>(std::ranges::min_element(printed.y) - printed.y.begin());
  add_value(out, "best-k-of-printed", Quantity::count(l.steps[fastest]), kClosedForm);
  add_value(out, "best-k-by-rule", Quantity::ratio(std::sqrt(l.message / l.compute)), kClosedForm);

  study::ValueTable table{
      .title = "Steps and time to the target", .says = {}, .columns = {"workers"}, .rows = {}};
  for (const int k : l.steps) table.columns.push_back(fmt::format("K = {}", k));
  table.columns.emplace_back("best K");
  for (const Kind& kind : kKinds) {
    study::Series line{.name = kind.title, .x = {}, .y = {}};
    add_kind(out, table, line, l, kind, options.threads);
    out.picture.series.push_back(std::move(line));
  }
  table.says = fmt::format(
      "Steps of each worker, each K with its best rate; where workers are alike and there is no noise, a mean of "
      "parameters is what one worker has, so K costs nothing but the rest of a round. Unlike optima have a target of {:g}.",
      l.coarse_target);
  out.tables.push_back(std::move(table));
  out.picture.title = "Time to the target against local steps";
  out.picture.x_label = "local steps between two meetings";
  out.picture.y_label = "seconds";
  out.picture.x_is_log = out.picture.y_is_log = true;
  out.picture.series.push_back(std::move(printed));
  out.notes = {
      "Workers step in step; a meeting is a message behind the last of K steps. K = 1 means gradients, the others "
      "means of parameters.",
      "With noise, rates are chosen on two seeds that are not among those that are counted. Unlike optima are drawn once."};
  return out;
}

}  // namespace cox::evaluate
