// SPDX-License-Identifier: Apache-2.0
// Worked examples of a few updates on one curvature: stale gradients, a trace, three consistency models.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cox/learn/stability.hpp"

#include "evaluate/learning/computations.hpp"
#include "evaluate/learning/race.hpp"

namespace cox::evaluate {
namespace {

using study::Quantity;

/// One curvature, the same in both coordinates, which therefore stay equal: one is run, from 1 to an optimum at 0.
struct Bowl {
  double start = 0;
  double optimum = 0;
  double rate = 0;
  double curvature = 1;
  [[nodiscard]] double place(double x) const { return optimum + (start - optimum) * x; }
  [[nodiscard]] Race race(int workers, double target, std::int64_t versions) const {
    return {.problem = {.dimension = 1, .condition = 1, .curvature = curvature},
            .rate = rate,
            .workers = workers,
            .target = target,
            .versions = versions};
  }
};

Result<Bowl> read_bowl(const study::Inputs& in) {
  Bowl b;
  COX_TRY(b.start, in.count("start", {.least = -1000, .most = 1000}));
  COX_TRY(b.optimum, in.count("optimum", {.least = -1000, .most = 1000}));
  COX_TRY(b.rate, in.ratio("rate", {.above = 0, .most = 10}));
  COX_TRY(b.curvature, in.ratio("curvature", {.above = 0, .most = 1000}));
  if (b.start != b.optimum) return b;
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "study-003",
                    .message = "'start' is the optimum: there is nothing to learn",
                    .hint = "give another start",
                    .where = Where{.file = in.study().file}});
}

/// Where the parameters are after each of some updates of given ages; no number where they are lost before.
std::vector<double> trace(const Bowl& b, const std::vector<int>& ages) {
  constexpr double kNoTarget = -1;  // a loss of exactly 0 is no end
  Racer racer(b.race(static_cast<int>(ages.size()) + 1, kNoTarget, static_cast<std::int64_t>(ages.size())));
  std::vector<double> out;
  stream_aged(
      static_cast<int>(ages.size()),
      [&](std::int64_t n) {
        return n < static_cast<std::int64_t>(ages.size()) ? ages[static_cast<std::size_t>(n)] : 0;
      },
      [&](const sync::StreamEvent& e, Seconds at) {
        const bool more = racer.take(e, at);
        if (e.kind == sync::StreamEvent::Kind::Advanced)
          out.push_back(b.place(static_cast<double>(racer.parameters()[0])));
        return more;
      });
  out.resize(ages.size(), std::numeric_limits<double>::quiet_NaN());
  return out;
}

/// From where the loss stays below the target.
Finish settle(Race race, const Stream& stream, double target, std::int64_t calm) {
  race.target = target;
  race.calm = calm;
  return race_rates(race, std::span(&race.rate, 1), stream).front();
}

Finish run_aged(const Bowl& b, int age, double target) {
  constexpr std::int64_t kMost = 100'000;
  return settle(
      b.race(age + 1, 0, kMost),
      [age](const auto& take) {
        stream_aged(
            age, [age](std::int64_t) { return age; }, take);
      },
      target, std::int64_t{100} * (age + 1));
}

/// Updates by age: table, values, picture. Where a run diverges it has no value.
void add_updates(study::Computation& out, const Bowl& b, const std::vector<int>& ages, double target,
                 const std::string& suffix) {
  study::ValueTable table{
      .title = fmt::format("Updates at a rate of {:g}", b.rate),
      .says = fmt::format(
          "Until the loss is {:.3g} of the first one and stays below; the edge is of rate times curvature, here {:g}.",
          target, b.rate * b.curvature),
      .columns = {"age", "edge", "updates"},
      .rows = {}};
  study::Series line{.name = fmt::format("rate {:g}", b.rate), .x = {}, .y = {}};
  const Finish fresh = run_aged(b, 0, target);
  for (const int age : ages) {
    const Finish f = run_aged(b, age, target);
    table.rows.push_back({fmt::format("{}", age), fmt::format("{:.4f}", learn::stable_edge({.delay = age})),
                          f.reached ? fmt::format("{}", f.versions) : "diverges"});
    if (!f.reached) continue;
    add_value(out, fmt::format("updates-age{}{}", age, suffix),
              Quantity::count(static_cast<double>(f.versions)), kLearning);
    if (age > 0 && fresh.reached)
      add_value(out, fmt::format("slowdown-age{}{}", age, suffix),
                Quantity::ratio(versions_of(f) / versions_of(fresh) - 1), kLearning);
    line.x.push_back(age);
    line.y.push_back(versions_of(f));
  }
  out.tables.push_back(std::move(table));
  out.picture.title = "Updates to the target against their age";
  out.picture.x_label = "age of every update";
  out.picture.y_label = "updates";
  out.picture.y_is_log = true;
  out.picture.series.push_back(std::move(line));
}

void add_first_that_diverges(study::Computation& out, const Bowl& b) {
  int age = 0;
  while (age < 10'000 && learn::stable_edge({.delay = age}) > b.rate * b.curvature) ++age;
  add_value(out, "first-age-that-diverges", Quantity::count(age), kClosedForm);
  if (age == 0) return;
  out.checks.push_back({.name = "the age below still converges, by a run (1 = it does)",
                        .engine = Quantity::count(run_aged(b, age - 1, 0.5).lost ? 0 : 1),
                        .oracle = Quantity::count(1)});
  out.checks.push_back({.name = "this age diverges, by a run (1 = it does)",
                        .engine = Quantity::count(run_aged(b, age, 0).lost ? 1 : 0),
                        .oracle = Quantity::count(1)});
}

constexpr const char* kCoordinates =
    "Both coordinates have the same start, optimum and curvature, so they stay equal; one is shown.";

constexpr const char* kStays =
    "A run is at its target from where on it stays there: one that swings passes its optimum before.";

}  // namespace

Result<study::Computation> compute_stale_gradient(const study::Inputs& in, const study::ComputeOptions&) {
  COX_TRY(const Bowl b, read_bowl(in));
  COX_TRY(const Seconds gradient, in.time("gradient takes"));
  COX_TRY(const Seconds every, in.time("an update every"));
  COX_TRY(const double target, in.ratio("target", {.above = 0, .most = 0.5}));
  COX_TRY(const auto ages, in.counts("ages", {.least = 0, .most = 100}));
  study::Computation out;
  const std::vector<double> steps = trace(b, {0, 1});
  add_value(out, "after-the-fresh-gradient", Quantity::count(steps[0]), kLearning);
  add_value(out, "after-the-stale-gradient", Quantity::count(steps[1]), kLearning);
  add_value(out, "age-by-times", Quantity::count(std::round(gradient / every)), kClosedForm);
  add_first_that_diverges(out, b);
  add_updates(out, b, ages, target, "");
  out.notes = {kCoordinates, kStays};
  return out;
}

Result<study::Computation> compute_asynchronous_trace(const study::Inputs& in, const study::ComputeOptions&) {
  COX_TRY(Bowl b, read_bowl(in));
  COX_TRY(const int oldest, in.count("age of the third update", {.least = 0, .most = 2}));
  COX_TRY(const double distance, in.ratio("distance of the target", {.above = 0, .most = 10}));
  COX_TRY(const auto ages, in.counts("ages", {.least = 0, .most = 100}));
  COX_TRY(const auto others, in.ratios("other rates", {.above = 0, .most = 10}));
  study::Computation out;
  const std::vector<double> steps = trace(b, {0, 0, oldest});
  for (std::size_t i = 0; i < steps.size(); ++i)
    add_value(out, fmt::format("after-update-{}", i + 1), Quantity::count(steps[i]), kLearning);
  // Of the distance in both coordinates; the loss is its square.
  const double target = std::pow(distance / (std::abs(b.start - b.optimum) * std::sqrt(2.0)), 2);
  add_updates(out, b, ages, target, "");
  for (const double rate : others) {
    b.rate = rate;
    add_updates(out, b, ages, target, fmt::format("-rate{:g}", rate));
  }
  out.notes = {kCoordinates, kStays,
               "Every update of a run has the same age; the first ones are as old as there are versions."};
  return out;
}

Result<study::Computation> compute_three_models(const study::Inputs& in, const study::ComputeOptions&) {
  COX_TRY(const Bowl b, read_bowl(in));
  COX_TRY(const int workers, in.count("workers", {.least = 2, .most = 64}));
  COX_TRY(const int local_steps, in.count("local steps", {.least = 1, .most = 1000}));
  COX_TRY(const double target, in.ratio("target", {.above = 0, .most = 0.5}));
  study::Computation out;
  const std::vector<double> steps = trace(b, {0, 1});
  add_value(out, "after-one-update", Quantity::count(steps[0]), kLearning);
  add_value(out, "after-a-stale-one", Quantity::count(steps[1]), kLearning);
  study::ValueTable table{.title = "Steps of each worker to the target",
                          .says = {},
                          .columns = {"model", "steps", "versions"},
                          .rows = {}};
  study::Series bars{.name = "steps", .x = {}, .y = {}};
  out.picture.kind = study::Picture::Kind::Bars;
  const std::pair<const char*, model::PolicySpec> models[] = {
      {"strict", {}},
      {"eventual", {.kind = model::PolicyKind::Asynchronous}},
      {"delta", {.kind = model::PolicyKind::LocalSgd, .local_steps = local_steps}}};
  for (const auto& [name, policy] : models) {
    Race race = b.race(workers, 0, 10'000);
    race.way.policy = policy;
    const auto stream = [&](const auto& take) { learn::stream_drawn(policy, {.workers = workers}, take); };
    const Finish f = settle(race, stream, target, std::int64_t{100} * workers);
    if (!f.reached) {
      table.rows.push_back({name, "diverges", ""});
      continue;
    }
    add_value(out, fmt::format("steps-{}", name), Quantity::count(f.steps), kLearning);
    table.rows.push_back({name, fmt::format("{:g}", f.steps), fmt::format("{}", f.versions)});
    bars.x.push_back(static_cast<double>(out.picture.categories.size()));
    bars.y.push_back(f.steps);
    out.picture.categories.emplace_back(name);
  }
  table.says = fmt::format(
      "The same rate for all, workers alike and step in step, {} local steps. Strict and delta differ by the rest of a round "
      "alone: with equal losses and no noise there is nothing to compare.",
      local_steps);
  out.tables.push_back(std::move(table));
  out.picture.title = "Steps of each worker to the target";
  out.picture.y_label = "steps";
  out.picture.series.push_back(std::move(bars));
  out.notes = {
      kCoordinates,
      "Eventual: every update is applied as it comes, with the rate of one; each worker reads after its own."};
  return out;
}

}  // namespace cox::evaluate
