// SPDX-License-Identifier: Apache-2.0
// Updates that are all equally old: C.3 as theory has it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "cox/learn/stability.hpp"

#include "evaluate/learning/computations.hpp"
#include "evaluate/learning/race.hpp"

namespace cox::evaluate {
namespace {

using study::Quantity;

struct Delays {
  learn::ProblemSpec problem{};
  std::vector<int> delays;
  double target = 0;
  double fixed = 0;               ///< rate times largest curvature
  std::vector<double> fractions;  ///< rates that are tried, of a delay's edge
  std::int64_t versions = 0;
};

Stream constant_age(int delay) {
  return [delay](const auto& take) {
    stream_aged(
        delay, [delay](std::int64_t) { return delay; }, take);
  };
}

Result<Delays> read_delays(const study::Inputs& in) {
  Delays s;
  COX_TRY(s.problem.dimension, in.count("dimension", {.least = 1, .most = 10'000}));
  COX_TRY(const int condition, in.count("condition", {.least = 1, .most = 1'000'000}));
  s.problem.condition = condition;
  COX_TRY(s.delays, in.counts("delays", {.least = 0, .most = 200}));
  COX_TRY(s.target, in.ratio("target", {.above = 0, .most = 0.5}));
  COX_TRY(s.fixed, in.ratio("fixed rate", {.above = 0, .most = 2}));
  COX_TRY(s.fractions, in.ratios("rates tried", {.above = 0, .most = 1}));
  COX_TRY(s.versions, in.count("most updates", {.least = 100, .most = 1'000'000}));
  COX_CHECK(in.check_draws(static_cast<double>(s.versions) * static_cast<double>(s.problem.dimension) *
                               static_cast<double>(s.delays.size() * (s.fractions.size() + 1)),
                           "most updates, dimension, delays and rates tried"));
  return s;
}

/// Whether a run on one curvature swings wider in its last period than halfway there.
bool grows(int delay, double rate) {
  const std::int64_t period = 2 * (2 * std::int64_t{delay} + 1), versions = 500 * period;
  Race race{.problem = {.dimension = 1, .condition = 1}, .rate = rate, .workers = delay + 1, .target = 0};
  race.versions = versions;
  Racer racer(race);
  double half = 0, end = 0;
  stream_aged(
      delay, [delay](std::int64_t) { return delay; },
      [&](const sync::StreamEvent& e, Seconds at) {
        const bool more = racer.take(e, at);
        const double now = racer.finish().loss;
        const std::int64_t v = racer.finish().versions;
        if (v > versions / 2 - period && v <= versions / 2) half = std::max(half, now);
        if (v > versions - period) end = std::max(end, now);
        return more;
      });
  return racer.finish().lost || end > half;
}

/// By bisection on runs, between half and one and a half of where it should be.
double edge_of_runs(int delay) {
  double low = learn::stable_edge({.delay = delay}) / 2, high = 3 * low;
  while (high / low > 1.002) {
    const double middle = (low + high) / 2;
    (grows(delay, middle) ? high : low) = middle;
  }
  return (low + high) / 2;
}

/// One delay: what its edge is, and how many updates it takes.
struct AtDelay {
  int delay = 0;
  double edge = 0;
  std::optional<double> rate{};  ///< best, times the largest curvature
  Finish best{};
  Finish fixed{};
};

AtDelay row_of(const Delays& s, int delay) {
  AtDelay row{.delay = delay, .edge = learn::stable_edge({.delay = delay})};
  Race race{.problem = s.problem, .workers = delay + 1, .target = s.target, .versions = s.versions};
  race.calm = std::int64_t{10} * (delay + 1);
  std::vector<double> rates;
  rates.reserve(s.fractions.size());
  for (const double f : s.fractions) rates.push_back(f * row.edge);
  row.fixed = race_rates(race, std::span(&s.fixed, 1), constant_age(delay)).front();
  if (const auto best = race_best(race, rates, constant_age(delay), versions_of)) {
    row.best = best->finish;
    row.rate = best->rate;
  }
  return row;
}

std::string text_of(const Finish& f) {
  if (f.reached) return fmt::format("{}", f.versions);
  return f.lost ? "diverges" : "not in the updates given";
}

void add_row(study::Computation& out, const AtDelay& row) {
  const auto name = [&](const char* what) { return fmt::format("{}-tau{}", what, row.delay); };
  add_value(out, name("edge"), Quantity::ratio(row.edge), kClosedForm);
  // From the rate that converges fastest for the steepest direction without delay.
  add_value(out, name("reduction"), Quantity::ratio(1 / row.edge), kClosedForm);
  if (row.delay > 0)
    add_value(out, name("least-c"), Quantity::ratio((1 / row.edge - 1) / row.delay), kClosedForm);
  if (row.rate) {
    add_value(out, name("updates"), Quantity::count(static_cast<double>(row.best.versions)), kLearning);
    add_value(out, name("best-rate"), Quantity::ratio(*row.rate), kLearning);
  }
  if (row.fixed.reached)
    add_value(out, name("updates-fixed-rate"), Quantity::count(static_cast<double>(row.fixed.versions)),
              kLearning);
  out.checks.push_back({.name = fmt::format("edge of a delay of {}, by runs", row.delay),
                        .engine = Quantity::ratio(edge_of_runs(row.delay)),
                        .oracle = Quantity::ratio(row.edge),
                        .limit_ratio = 0.01});
}

/// Over what no delay takes; nothing where no rate that was tried reaches the target without one.
void add_slowdowns(study::Computation& out, const std::vector<AtDelay>& rows, const AtDelay& fresh) {
  if (!fresh.rate) return;
  const auto first = static_cast<double>(fresh.best.versions);
  for (const AtDelay& r : rows) {
    if (!r.rate || r.delay == fresh.delay) continue;
    const double slower = static_cast<double>(r.best.versions) / first;
    add_value(out, fmt::format("slowdown-tau{}", r.delay), Quantity::ratio(slower), kLearning);
    add_value(out, fmt::format("added-by-a-unit-tau{}", r.delay),
              Quantity::ratio((slower - 1) / (r.delay - fresh.delay)), kLearning);
  }
}

/// Of the first age and the next: what one rate for all takes, and the best rate of each.
std::string says_of(const std::vector<AtDelay>& rows, double fixed) {
  std::string out = "Rates are times the largest curvature. Updates";
  for (std::size_t i = 0; i < std::min<std::size_t>(2, rows.size()); ++i)
    out += fmt::format("{} at age {}: {} with rate {:g}, {} with the best", i == 0 ? "" : ";", rows[i].delay,
                       text_of(rows[i].fixed), fixed, rows[i].rate ? text_of(rows[i].best) : "not reached");
  return out + ".";
}

study::Picture picture_of(const std::vector<AtDelay>& rows, double fixed) {
  study::Series best{.name = "best rate of each delay", .x = {}, .y = {}};
  study::Series same{.name = fmt::format("rate {:g} for all", fixed), .x = {}, .y = {}};
  for (const AtDelay& r : rows) {
    if (r.rate) {
      best.x.push_back(r.delay);
      best.y.push_back(static_cast<double>(r.best.versions));
      best.of.push_back(fmt::format("updates-tau{}", r.delay));
    }
    if (r.fixed.reached) {
      same.x.push_back(r.delay);
      same.y.push_back(static_cast<double>(r.fixed.versions));
    }
  }
  return {.title = "Updates to the target against their age",
          .x_label = "age of every update",
          .y_label = "updates",
          .y_is_log = true,
          .series = {std::move(best), std::move(same)}};
}

}  // namespace

Result<study::Computation> compute_constant_delay(const study::Inputs& in, const study::ComputeOptions&) {
  COX_TRY(const Delays s, read_delays(in));
  study::Computation out;
  std::vector<AtDelay> rows;
  rows.reserve(s.delays.size());
  for (const int delay : s.delays) rows.push_back(row_of(s, delay));
  study::ValueTable table{.title = "Delay, edge and updates",
                          .says = {},
                          .columns = {"age", "edge", "best rate", "updates with it",
                                      fmt::format("updates with rate {:g}", s.fixed)},
                          .rows = {}};
  for (const AtDelay& r : rows) {
    add_row(out, r);
    table.rows.push_back({fmt::format("{}", r.delay), fmt::format("{:.4f}", r.edge),
                          r.rate ? fmt::format("{:.4f}", *r.rate) : "none tried",
                          r.rate ? text_of(r.best) : "not reached", text_of(r.fixed)});
  }
  table.says = says_of(rows, s.fixed);
  const auto fresh = std::ranges::find(rows, 0, &AtDelay::delay);
  add_slowdowns(out, rows, fresh != rows.end() ? *fresh : row_of(s, 0));
  out.tables.push_back(std::move(table));
  out.picture = picture_of(rows, s.fixed);
  out.notes = {
      "The quadratic's curvatures lie evenly in the logarithm between 1 and 1 over the condition; it begins one away from its "
      "optimum in each direction; loss is counted from the optimum.",
      "A run is at its target from where on the loss stays below for ten times as many versions as a gradient is old, and one.",
      "The first updates are as old as there are versions.",
      "The edge by runs: on one curvature, the last swing beside the one halfway through 500 periods."};
  return out;
}

}  // namespace cox::evaluate
