// SPDX-License-Identifier: Apache-2.0
#include "forecast/checkpoints/days.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>

#include "cox/base/number_text.hpp"

#include "forecast/checkpoints/drawn_failures.hpp"
#include "forecast/checkpoints/slowest.hpp"
#include "forecast/scaled/scaled.hpp"

namespace cox::forecast {
namespace {

tl::unexpected<Error> cannot(std::string message, std::string hint) {
  return fail({.code = Errc::InvalidInput,
               .id = "forecast-032",
               .message = std::move(message),
               .hint = std::move(hint),
               .where = std::nullopt});
}

Seconds& part(DaysAt& d, DaysPart p) {
  return d.parts[static_cast<std::size_t>(p)];
}

/// As energy-and-cost.md says: work that is done again draws as it did.
Energy energy_of(const model::Scenario& s, const Days& d, const StepBudget& step) {
  const model::PowerDraw& draw = s.power;
  const Seconds kept = d.parts[static_cast<std::size_t>(DaysPart::Compute)] +
                       d.parts[static_cast<std::size_t>(DaysPart::Communication)] +
                       d.parts[static_cast<std::size_t>(DaysPart::Waiting)];
  const Seconds at_work = kept + d.parts[static_cast<std::size_t>(DaysPart::Rework)];
  const Seconds down = d.parts[static_cast<std::size_t>(DaysPart::Start)] +
                       d.parts[static_cast<std::size_t>(DaysPart::Restarts)] +
                       d.parts[static_cast<std::size_t>(DaysPart::Repair)];
  const auto nodes = static_cast<double>(d.nodes);
  const double per_step = at_work / step.total() * nodes;
  const Energy all = draw.busy * (step.compute * per_step) + draw.transfer * (step.communication * per_step) +
                     draw.wait * (step.waiting * per_step +
                                  d.parts[static_cast<std::size_t>(DaysPart::Checkpoints)] * nodes) +
                     draw.idle * (down * nodes + d.total * s.failures.spares);
  return all * draw.pue;
}

struct Fit {
  Intervals at;
  WallShares shares;
};

Fit fit_of(const model::Scenario& s, std::int64_t nodes, Seconds step, bool at_given) {
  const model::Failures& f = s.failures;
  if (!f.happen() && f.checkpoint_interval <= Seconds{}) return {.at = {}, .shares = {.work = 1}};
  const Interruptions costs = interruptions(s, nodes, step);
  const bool as_given =
      f.checkpoint_interval > Seconds{} && (at_given || !f.happen() || costs.blocks <= Seconds{});
  if (!as_given && !writes_checkpoints(f)) return {};  // it gets nowhere: all of it at once, or not at all
  const Intervals at =
      as_given ? Intervals{.far = f.checkpoint_interval, .near = f.near_interval} : best_intervals(costs);
  return {.at = at, .shares = wall_shares(costs, at)};
}

tl::unexpected<Error> never(std::int64_t nodes) {
  return cannot(
      fmt::format("{} nodes never finish: failures come quicker than a checkpoint is written and read",
                  nodes),
      "say what a checkpoint takes, make it or restarts quicker, or ask for fewer nodes");
}

/// So many steps; with nothing that is kept they never end.
DaysAt at_interval(const Fit& fit, const StepBudget& step, double steps, Seconds start) {
  DaysAt out;
  out.intervals = fit.at;
  if (!(fit.shares.work > 0)) {
    out.total = Seconds{std::numeric_limits<double>::infinity()};
    return out;
  }
  const Seconds wall = step.total() * steps / fit.shares.work;
  part(out, DaysPart::Start) = start;
  part(out, DaysPart::Compute) = step.compute * steps;
  part(out, DaysPart::Communication) = step.communication * steps;
  part(out, DaysPart::Waiting) = step.waiting * steps;
  part(out, DaysPart::Checkpoints) = wall * fit.shares.write;
  part(out, DaysPart::Rework) = wall * fit.shares.rework;
  part(out, DaysPart::Restarts) = wall * fit.shares.restart;
  part(out, DaysPart::Repair) = wall * fit.shares.waiting;
  for (const Seconds p : out.parts) out.total += p;
  return out;
}

/// As `days`; nothing where the job gets nowhere.
Result<std::optional<Days>> days_unless_never(const model::Scenario& scenario, const BudgetAt& budget,
                                              double tokens, std::int64_t nodes, bool at_given) {
  if (!(tokens > 0) || !std::isfinite(tokens))
    return cannot(fmt::format("{} tokens to train on, wanted more than 0", tokens),
                  "say how many: --tokens 15e12");
  COX_TRY(const StepBudget step, budget(nodes));
  if (!(step.tokens > 0) || !(step.total() > Seconds{}))
    return cannot(fmt::format("a step trains on {} tokens in {} s, wanted more than 0 of both", step.tokens,
                              step.total().count()),
                  "say --tokens-per-step, and steps that take time");
  const Fit fit = fit_of(scenario, nodes, step.total(), at_given);
  if (!(fit.shares.work > 0)) return std::optional<Days>{};
  const double steps = std::ceil(tokens / step.tokens);
  const Seconds start = mean_start(scenario, nodes);
  Days out;
  static_cast<DaysAt&>(out) = at_interval(fit, step, steps, start);
  out.nodes = nodes;
  out.tokens = tokens;
  out.steps = steps;
  if (!at_given && scenario.failures.happen() && scenario.failures.checkpoint_interval > Seconds{})
    out.at_stated = at_interval(fit_of(scenario, nodes, step.total(), true), step, steps, start);
  out.goodput = fit.shares.work;
  out.failures = fit.shares.failures_per_work * (step.total() * steps).count();
  out.node_hours = out.total.count() / 3600 * static_cast<double>(nodes + scenario.failures.spares);
  if (scenario.power.known()) out.energy = energy_of(scenario, out, step);
  if (scenario.node_price.node_hour > 0) out.cost = out.node_hours * scenario.node_price.node_hour;
  out.currency = scenario.node_price.currency;
  return std::optional(std::move(out));
}

/// So few nodes cannot finish within `target`: what ranks compute alone takes longer on them, were nothing lost and nothing sent. A
/// tenth less than that, since a replica's work need not be the same to the last digit; 0 = not known.
std::int64_t too_few(const model::Scenario& scenario, const BudgetAt& budget, double tokens, Seconds target) {
  const int given = std::max(nodes_of(scenario), 1);
  const auto step = budget(given);
  if (!step || !(step->tokens > 0)) return 0;
  const double needed = tokens / step->tokens * (step->compute / target) * given;
  return std::isfinite(needed) ? static_cast<std::int64_t>(std::min(0.9 * needed, 1e9)) : 0;
}

constexpr double kApart = 1.0905;  ///< eight sizes a doubling
constexpr int kMostHalves = 12;    ///< of what is between two of them: 4,096 parts

}  // namespace

std::string_view name_of(DaysPart p) {
  constexpr std::array<std::string_view, kDaysParts> kNames = {
      "start", "compute", "communication", "waiting", "checkpoints", "rework", "restarts", "repair"};
  return kNames[static_cast<std::size_t>(p)];
}

Result<Days> days(const model::Scenario& scenario, const BudgetAt& budget, double tokens, std::int64_t nodes,
                  bool at_given) {
  COX_TRY(std::optional<Days> out, days_unless_never(scenario, budget, tokens, nodes, at_given));
  if (!out) return never(nodes);
  return *std::move(out);
}

Result<NodesFor> nodes_for(const model::Scenario& scenario, const BudgetAt& budget, double tokens,
                           Seconds target, std::int64_t multiple, std::int64_t most) {
  if (multiple < 1 || most < multiple)
    return cannot(fmt::format("no size between {} and {} nodes", multiple, most), "ask for a larger range");
  std::optional<Days> quickest, reached;
  std::set<std::int64_t> looked;
  std::set<std::int64_t> slow;  // of them, those that are not in time
  Result<std::optional<Days>> last =
      cannot("no size of the range can be computed", "ask for sizes that the layout fits");
  const auto look = [&](std::int64_t n) {
    looked.insert(n);
    last = days_unless_never(scenario, budget, tokens, n * multiple, false);
    if (!last || !*last) return false;
    const Days& here = **last;
    if (!quickest || here.total < quickest->total) quickest = here;
    const bool in_time = here.total <= target;
    if (in_time && (!reached || here.nodes < reached->nodes)) reached = here;
    if (!in_time) slow.insert(n);
    return in_time;
  };
  // Eight sizes a doubling, since more nodes may be slower: the first in time, then the least between it and its neighbour.
  const std::int64_t sizes = most / multiple;
  const std::int64_t first =
      std::clamp<std::int64_t>(too_few(scenario, budget, tokens, target) / multiple + 1, 1, sizes);
  // Behind the quickest, twice its time is far enough: failures only get more.
  const auto hopeless = [&] { return quickest && last && (!*last || (*last)->total > quickest->total * 2); };
  for (auto x = static_cast<double>(first); x < static_cast<double>(sizes) + 1 && !reached;
       x = std::max(x + 1, std::floor(x * kApart))) {
    look(static_cast<std::int64_t>(x));
    if (hopeless()) break;
  }
  if (!reached && !looked.contains(sizes) && !hopeless()) look(sizes);
  // Where none is in time, the quickest may be one of those that are too few.
  for (auto x = static_cast<double>(first - 1); x >= 1 && !reached;
       x = std::min(x - 1, std::floor(x / kApart))) {
    look(static_cast<std::int64_t>(x));
    if (hopeless()) break;
  }
  if (!quickest) return last ? never(multiple) : fail(last.error());
  // Between two that were looked at there may be one that is quicker: halves of the longer side of the quickest.
  for (int i = 0; i < kMostHalves && !reached; ++i) {
    const std::int64_t here = quickest->nodes / multiple;
    const auto at = looked.find(here);
    const std::int64_t below = at == looked.begin() ? 0 : *std::prev(at);
    const std::int64_t above = std::next(at) == looked.end() ? here : *std::next(at);
    const std::int64_t middle = here - below > above - here ? (below + here + 1) / 2 : (here + above) / 2;
    if (middle == here) break;
    look(middle);
  }
  if (!reached)
    return NodesFor{
        .reached = false,
        .at = *quickest,
        .why =
            quickest->nodes / multiple == *looked.rbegin()
                ? fmt::format("{} nodes, the most that are looked at, are too few", grouped(quickest->nodes))
                : fmt::format("{} nodes are the quickest, more take longer", grouped(quickest->nodes)),
        .most = most};
  std::int64_t high = reached->nodes / multiple;
  const auto slower = slow.lower_bound(high);
  std::int64_t before = slower == slow.begin() ? first - 1 : *std::prev(slower);
  while (high - before > 1) {
    const std::int64_t middle = before + (high - before) / 2;
    if (look(middle))
      high = middle;
    else
      before = middle;
  }
  return NodesFor{.reached = true, .at = *reached, .why = {}, .most = most};
}

Result<std::vector<Sensitivity>> sensitivities(const model::Scenario& scenario, const BudgetAt& budget,
                                               double tokens, std::int64_t nodes,
                                               const BudgetFrom& steps_of) {
  COX_TRY(const StepBudget as_is, budget(nodes));
  COX_TRY(const Days plain, days(scenario, budget, tokens, nodes));
  const auto with = [&](const model::Scenario& s, StepBudget step) -> double {
    const auto d = days(
        s, [&](std::int64_t) { return Result<StepBudget>(step); }, tokens, nodes);
    return d ? d->total / plain.total : std::numeric_limits<double>::infinity();
  };
  const auto both = [&](std::string name, const auto& change) {
    Sensitivity out{.name = std::move(name)};
    for (const double k : {0.8, 1.2}) {
      model::Scenario s = scenario;
      StepBudget step = as_is;
      change(s, step, k);
      (k < 1 ? out.at_less : out.at_more) = with(s, step);
    }
    return out;
  };
  const auto simulated = [&](std::string name,
                             void (*change)(model::Scenario&, double)) -> Result<Sensitivity> {
    Sensitivity out{.name = std::move(name)};
    for (const double k : {0.8, 1.2}) {
      model::Scenario s = scenario;
      change(s, k);
      COX_TRY(const StepBudget step, steps_of(s)(nodes));
      (k < 1 ? out.at_less : out.at_more) = with(s, step);
    }
    return out;
  };
  std::vector<Sensitivity> out;
  if (steps_of) {
    COX_TRY(Sensitivity work, simulated("computation", scale_work));
    out.push_back(std::move(work));
  } else {
    out.push_back(both("computation", [](auto&, StepBudget& b, double k) { b.compute *= k; }));
  }
  out.push_back(both("exposed communication", [](auto&, StepBudget& b, double k) { b.communication *= k; }));
  if (steps_of && scenario.price == model::CollectivePrice::Rounds) {
    COX_TRY(Sensitivity links, simulated("bandwidth between nodes", scale_links));
    out.push_back(std::move(links));
  }
  if (!scenario.failures.happen()) return out;
  const auto changed = [&](std::string name, void (*change)(model::Failures&, double)) {
    out.push_back(both(std::move(name), [=](model::Scenario& s, auto&, double k) { change(s.failures, k); }));
  };
  changed("time between failures", change_between);
  changed("checkpoint", change_checkpoints);
  changed("restart", change_restarts);
  return out;
}

}  // namespace cox::forecast
