// SPDX-License-Identifier: Apache-2.0
#include "forecast/control/control.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"

#include "forecast/control/changed_parts.hpp"
#include "forecast/control/drawn_days.hpp"
#include "forecast/control/simulated_control.hpp"
#include "forecast/levers/set_search.hpp"
#include "forecast/scenario/resize.hpp"

namespace cox::forecast {
namespace {

constexpr std::int64_t kMostSteps = 50;       // of a budget: its mean is what counts
constexpr std::int64_t kMostNodes = 1 << 17;  // of those that are looked for
constexpr std::int64_t kMostTimes = 64;       // the scenario's nodes, where each size is simulated

std::string day_text(Seconds s) {
  const double days = s.count() / 86'400;
  return fmt::format("{:.{}f} days", days, days < 10 ? 2 : days < 100 ? 1 : 0);
}

/// Nodes that hold whole replicas.
std::int64_t whole_nodes(const model::Scenario& scenario, const BudgetAt& given) {
  return given ? 1 : unit_of(scenario) / std::max(scenario.cluster.devices_per_node, 1);
}

/// The step of a size that is simulated already, as node hours have it; else `steps`.
BudgetAt with_simulated(BudgetAt steps, const model::Scenario& scenario, const ControlQuestion& q) {
  if (!q.simulated) return steps;
  const std::int64_t each = std::max(scenario.cluster.devices_per_node, 1);
  const double own = nodes_of(scenario);
  return [steps = std::move(steps), at = q.simulated, training = *q.training, each,
          own](std::int64_t nodes) -> Result<StepBudget> {
    const std::optional<StepParts> known = at(nodes * each);
    if (!known) return steps(nodes);
    const double grown = training.rule == BatchRule::Grows ? static_cast<double>(nodes) / own : 1;
    return StepBudget{.compute = known->work,
                      .communication = known->communication,
                      .waiting = known->waiting,
                      .tokens = training.tokens_per_step * grown};
  };
}

/// How far the number of nodes is looked for: where each size is simulated, not to thousands of times the scenario's.
std::int64_t most_looked_at(const std::vector<std::int64_t>& nodes, const BudgetAt& given) {
  const std::int64_t most =
      given ? kMostNodes : std::min<std::int64_t>(kMostNodes, nodes.front() * kMostTimes);
  return std::max<std::int64_t>(std::ranges::max(nodes), most);
}

Status add_days(const model::Scenario& scenario, const ControlQuestion& q, const BudgetAt& given,
                const std::vector<std::int64_t>& nodes, FullControl& out) {
  model::Scenario steps = scenario;
  steps.job.steps = std::min<decltype(steps.job.steps)>(steps.job.steps, kMostSteps);
  const BudgetFrom steps_of = [&q, few = steps.job.steps](const model::Scenario& of) {
    model::Scenario played = of;
    played.job.steps = few;
    return budget_of(played, q.training->tokens_per_step, q.training->rule, q.options.threads);
  };
  // Terms cost nothing, and where a batch is shared out few sizes fit: there each size is its own.
  const BudgetAt own = given ? given : steps_of(steps);
  const RememberedSteps remembered(given ? given : with_simulated(own, scenario, q),
                                   !given && q.training->rule == BatchRule::Grows);
  const BudgetAt budget = remembered.exact();
  const DrawnDays drawn(scenario, remembered.near(), *q.training, q.drawn_steps, q.options.prior);
  COX_TRY(const Days as_it_is, days(scenario, budget, q.training->tokens, nodes.front()));
  out.days.push_back(as_it_is);
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    const auto more = days(scenario, budget, q.training->tokens, nodes[i]);
    if (more)
      out.days.push_back(*more);
    else
      out.notes.push_back(fmt::format("{} nodes: {}", grouped(nodes[i]), more.error().message));
  }
  for (Days& one : out.days) drawn.add_to(one);
  COX_TRY(out.sensitivities,
          sensitivities(scenario, own, q.training->tokens, nodes.front(), given ? BudgetFrom{} : steps_of));
  if (given)
    out.notes.emplace_back("other bandwidths are not simulated: what steps take is stated");
  else if (scenario.price != model::CollectivePrice::Rounds)
    out.notes.emplace_back(
        "other bandwidths are not simulated: collectives are priced by a table or by NCCL's model");
  if (q.training->within) {
    out.within = q.training->within;
    const std::int64_t whole = whole_nodes(scenario, given);
    if (whole > 1)
      out.notes.push_back(
          fmt::format("--days: sizes are multiples of {} nodes, which hold whole replicas", grouped(whole)));
    COX_TRY(out.nodes_for, nodes_for(scenario, budget, q.training->tokens, *q.training->within, whole,
                                     most_looked_at(nodes, given)));
    drawn.add_to(*out.nodes_for, *q.training->within, whole);
  }
  if (out.days.front().band)
    out.notes.push_back(fmt::format(
        "days: nine in ten draws{}; times between failures, restarts, checkpoints and starts that are stated within the prior; "
        "checkpoints as often as without them",
        q.drawn_steps ? " of the job's parts" : ""));
  if (!scenario.failures.happen())
    out.notes.emplace_back(
        scenario.job.workload() != model::Workload::Collective
            ? "nothing fails in this scenario, so nothing is lost to failures: say [failures]"
            : "nothing is lost to failures: a collective has none, a job of workload training has");
  out.notes.emplace_back("how many tokens a larger batch needs is learning, and not included");
  return {};
}

/// How long a step usually takes, where some are cold after a restart; else it does not matter.
Result<Seconds> usual_step(const model::Scenario& scenario, const ControlQuestion& q,
                           const FullControl& out) {
  if (scenario.failures.cold_steps <= 0) return Seconds{};
  if (!out.days.empty()) {
    const Days& d = out.days.front();
    return (d.parts[static_cast<std::size_t>(DaysPart::Compute)] +
            d.parts[static_cast<std::size_t>(DaysPart::Communication)] +
            d.parts[static_cast<std::size_t>(DaysPart::Waiting)]) /
           d.steps;
  }
  model::Scenario steps = scenario;
  steps.job.steps = std::min<decltype(steps.job.steps)>(steps.job.steps, kMostSteps);
  COX_TRY(const StepBudget step,
          budget_of(steps, 1, BatchRule::Grows, q.options.threads)(std::max(nodes_of(scenario), 1)));
  return step.total();
}

/// Parts say how a gain goes on with the size; how large it is at the job's own was simulated.
void as_simulated_here(const LeverEffect& effect, std::int64_t here, std::vector<ControlledSize>& sizes) {
  const auto own = std::ranges::find(sizes, here, &ControlledSize::ranks);
  if (own == sizes.end() || !(own->throughput_ratio > 0)) return;
  const double over = effect.throughput.value / own->throughput_ratio;
  for (ControlledSize& at : sizes) {
    at.throughput_ratio *= over;
    at.from_own = true;
  }
}

void add_controlled(const model::Scenario& scenario, const std::vector<std::int64_t>& nodes,
                    const LeverOptions& options, FullControl& out) {
  std::vector<std::int64_t> ranks;
  ranks.reserve(nodes.size());
  for (const std::int64_t n : nodes) ranks.push_back(n * std::max(scenario.cluster.devices_per_node, 1));
  out.controlled = controlled_sizes(scenario, out.set->best.names, ranks);
  if (!out.controlled.empty()) {
    as_simulated_here(out.set->best, ranks_of(scenario.cluster, scenario.job.places), out.controlled);
    return;
  }
  out.controlled = simulated_control(scenario, out.set->best.names, ranks, options, out.notes);
  if (!out.controlled.empty())
    out.notes.emplace_back(
        "control at other sizes is simulated there: ranks do not meet in every step, so parts do not say it");
}

}  // namespace

Result<FullControl> make_control(const model::Scenario& scenario, const ControlQuestion& q,
                                 const BudgetAt& steps) {
  FullControl out;
  std::vector<std::int64_t> nodes{std::max(nodes_of(scenario), 1)};
  for (const std::int64_t n : q.nodes)
    if (n >= 1 && std::find(nodes.begin(), nodes.end(), n) == nodes.end()) nodes.push_back(n);
  if (q.levers) {
    COX_TRY(out.levers, compare_levers(scenario, q.options));
    add_margins(scenario, q.options.threads, q.over_parts, *out.levers);
  }
  if (q.target) {
    COX_TRY(out.set, cheapest_levers(scenario, *q.target, q.options));
    out.target = q.target->text;
    if (out.levers) add_target(*out.levers, *q.target);
    if (out.set->reached && !out.set->already) add_controlled(scenario, nodes, q.options, out);
  }
  if (q.training) COX_CHECK(add_days(scenario, q, steps, nodes, out));
  if (!scenario.failures.happen()) return out;
  COX_TRY(const Seconds cold_step, usual_step(scenario, q, out));
  const auto left = goodput(scenario, nodes, cold_step);
  if (!left) {
    out.notes.push_back(left.error().message);
    return out;
  }
  out.goodput = *left;
  COX_TRY(out.most, most_work(scenario, std::int64_t{1} << 20, {}, cold_step));
  for (const std::string& note : out.goodput.front().costs.notes) out.notes.push_back(note);
  return out;
}

namespace {

using Lines = std::vector<TextLine>;

std::string cell(const std::optional<LeverRatio>& r) {
  return r ? fmt::format("{:.3f}", r->value) : "-";
}

std::string margin_cell(const std::optional<double>& margin) {
  if (!margin) return "-";
  if (*margin <= 1) return "over";
  return std::isfinite(*margin) ? fmt::format("x {:.3g}", *margin) : "none";
}

/// Of a range the ends alone.
TextLine range_row(std::string_view name, const LeverEffect& e) {
  return TextLine::row(fmt::format("{:<19} {:>6} {:>14} a range: no place in it is likelier", name, "-",
                                   fmt::format("{:.3f}..{:.3f}", e.throughput.low, e.throughput.high)));
}

TextLine lever_row(std::string_view name, const LeverEffect& e, const LeverEffect& as_it_is) {
  if (e.range) return range_row(name, e);
  const std::optional<double> nodes = e.most_nodes_over(as_it_is);
  const std::string most = nodes ? fmt::format("{:.3f}", *nodes) : "-";
  return TextLine::row(
      fmt::format("{:<19} {:>6.3f} {:>14} {:>6} {:>6} {:>7} {:>6} {:>6.3f} {:>7} {:>6} {:>5}", name,
                  e.throughput.value, fmt::format("{:.3f}..{:.3f}", e.throughput.low, e.throughput.high),
                  cell(e.p99), cell(e.cv), cell(e.rework), cell(e.energy), e.cost.value,
                  margin_cell(e.margin), most, e.price > 0 ? fmt::format("{:.3g}", e.price) : "-"));
}

/// Of a Run whose sums run beside work.
bool has_messages(const LeverTable& t) {
  return std::ranges::any_of(t.levers,
                             [](const LeverEffect& e) { return e.names.front() == "faster-links"; });
}

std::string table_title(const LeverTable& t, bool of_a_run) {
  const char* waits =
      has_messages(t) ? "levers of who waits for whom, and of messages" : "levers of who waits for whom";
  return t.by_parts
             ? fmt::format("levers, alone: ratios to the job as it is on {} ranks (by its parts, {})",
                           grouped(t.ranks),
                           t.replicas > 0 ? fmt::format("{} draws of what they are", t.replicas)
                                          : std::string("which are stated: nothing is drawn"))
             : fmt::format(
                   "{}, alone: ratios to the job as it is on {} nodes ({} replicas of {} steps, common "
                   "draws)",
                   of_a_run ? waits : "levers", grouped(t.nodes), t.replicas, t.steps);
}

void add_rows(Lines& out, const LeverTable& t) {
  out.push_back(TextLine::row(
      fmt::format("{:<19} {:>6} {:>14} {:>6} {:>6} {:>7} {:>6} {:>6} {:>7} {:>6} {:>5}", "", "rate",
                  "90 % interval", "p99", "CV", "re-runs", "energy", "cost", "margin", "N*", "price")));
  out.push_back(lever_row("as it is", t.baseline, t.baseline));
  for (const LeverEffect& e : t.levers)
    out.push_back(e.why_not.empty()
                      ? lever_row(e.names.front(), e, t.baseline)
                      : TextLine::row(fmt::format("{:<19} not here: {}", e.names.front(), e.why_not)));
}

/// Ends that differ in the figures that are printed; empty = they do not, or there are none.
std::string ends_text(const std::optional<DrawnEnds>& ends, const std::function<std::string(double)>& of) {
  if (!ends) return {};
  std::string low = of(ends->low), high = of(ends->high);
  return low == high ? std::string() : low + ".." + high;
}

/// What nine in ten draws say of a margin and N*, which have no room in a row.
std::string drawn_text(const LeverEffect& e, bool as_it_is) {
  const std::string margin = ends_text(e.margin_ends, [](double x) { return margin_cell(x); });
  const std::string most =
      as_it_is ? ends_text(e.most_nodes_ends,
                           [](double x) { return std::isfinite(x) ? grouped(std::llround(x)) : "beyond"; })
               : ends_text(e.most_nodes_over_ends,
                           [](double x) { return std::isfinite(x) ? fmt::format("{:.3f}", x) : "beyond"; });
  std::string out;
  if (!margin.empty()) out += "margin " + margin;
  if (!most.empty()) out += fmt::format("{}N* {}{}", out.empty() ? "" : ", ", most, as_it_is ? " nodes" : "");
  return out;
}

/// What each lever is, where that is asked; of all what their draws say.
void add_what_they_do(Lines& out, const LeverTable& t, bool does) {
  if (const std::string drawn = drawn_text(t.baseline, true); !drawn.empty())
    out.push_back(fmt::format("as it is: {}, 90 % interval over the same draws as each lever's", drawn));
  for (const LeverEffect& e : t.levers) {
    if (!e.why_not.empty()) continue;
    std::string line = drawn_text(e, false);
    if (does)
      line = e.does + (e.learning.empty() ? "" : "; not included: " + e.learning) +
             (line.empty() ? "" : "; " + line);
    if (!line.empty()) out.push_back(fmt::format("{}: {}", e.names.front(), line));
  }
}

/// What ratios are not of.
void add_left_out(Lines& out, const LeverTable& t) {
  std::string names, alone;
  for (const LeverEffect& e : t.levers) {
    if (!e.why_not.empty() || !e.one_sum) continue;
    names += (names.empty() ? "" : ", ") + e.names.front();
    alone = fmt::format("{:.3f}", e.one_sum->value);
  }
  if (!names.empty())
    out.push_back(
        fmt::format("{}: simulated, as what it is compared with, with {}; that alone is {} of the rate",
                    names, kOneSum, alone));
}

/// Of a Run, simulated with its calibrated Scenario.
void add_played(Lines& out, const LeverTable& t) {
  out.push_back(table_title(t, true));
  add_rows(out, t);
  add_what_they_do(out, t, true);
  out.emplace_back(
      "by the calibrated Scenario, which reproduces the recorded steps: each rank is a worker, work does not depend on who waits; the "
      "intervals are of its draws alone");
  if (has_messages(t))
    out.emplace_back(
        "faster-links, compression: with the recorded overlap; by parts only what nothing hides gets shorter, so those say too little");
}

void add_levers(Lines& out, const LeverTable& t, const std::optional<LeverTable>& played) {
  out.push_back(table_title(t, false));
  add_rows(out, t);
  add_what_they_do(out, t, t.by_parts);
  add_left_out(out, t);
  if (played) add_played(out, *played);
  out.emplace_back(
      "rate: samples per time; re-runs, energy, cost (node hours): per sample; margin: the smallest change of one "
      "parameter that crosses the next bend (over: it is crossed; none: no change that is looked at does); price: stated, "
      "not measured (--price)");
  out.emplace_back(
      "what a lever does to learning is not included; what each one changes: docs/concepts/levers.md");
}

/// The levers of a set.
std::string names_of(const LeverEffect& set) {
  std::string names;
  for (const std::string& n : set.names) names += (names.empty() ? "" : " + ") + n;
  return names;
}

/// What a target says of a set, whose interval may go beyond it.
std::string perhaps_text(const LeverEffect& e) {
  return fmt::format(
      "  perhaps {}: {:.3f} of what the target allows, of which the 90 % interval is {:.3f}..{:.3f}",
      e.names.empty() ? "the job as it is" : fmt::format("{} at a price of {:.3g}", names_of(e), e.price),
      e.of_target->value, e.of_target->low, e.of_target->high);
}

/// Which levers of a table reach a target alone.
void add_alone(Lines& out, const LeverTable& t, const std::string& target) {
  std::string sure, perhaps;
  for (const LeverEffect& e : t.levers) {
    if (!reaches(e) && !perhaps_reaches(e)) continue;
    std::string& to = reaches(e) ? sure : perhaps;
    to += (to.empty() ? "" : ", ") + names_of(e);
  }
  out.push_back(fmt::format("target {}, alone: {}{}{}", target,
                            sure.empty() ? "no lever in all of its interval" : sure,
                            perhaps.empty() ? "" : "; perhaps ", perhaps));
}

void add_set(Lines& out, const LeverSet& s, const std::string& target) {
  if (s.already) {
    out.push_back(fmt::format("target {}: reached by the job as it is", target));
    return;
  }
  const std::string names = names_of(s.best);
  if (!s.reached) {
    const bool nearest = !s.perhaps && !s.best.names.empty();
    out.push_back(fmt::format("target {}: no single lever, pair or triple reaches it{} ({} tried){}{}",
                              target, s.perhaps ? " in all of its interval" : "", s.tried,
                              nearest ? "; nearest: " : "", nearest ? names : ""));
    if (s.perhaps) out.push_back(perhaps_text(*s.perhaps));
    return;
  }
  out.push_back(fmt::format("target {}: {}, the cheapest at a price of {:.3g} ({} sets tried)", target, names,
                            s.best.price, s.tried));
  if (s.perhaps) out.push_back(perhaps_text(*s.perhaps));
  out.push_back("  " + s.best.does);
  out.push_back(fmt::format("  throughput {:.3f}, p99 {}, node hours per sample {:.3f} of the job as it is",
                            s.best.throughput.value, cell(s.best.p99), s.best.cost.value));
  if (!s.best.learning.empty()) out.push_back("  not included: " + s.best.learning);
}

/// The set that the target wants, at the sizes asked.
void add_control_elsewhere(Lines& out, const std::vector<ControlledSize>& sizes) {
  for (const ControlledSize& at : sizes)
    out.push_back(fmt::format(
        "  at {} ranks throughput {:.3f} of the job as it is there{}", grouped(at.ranks), at.throughput_ratio,
        at.simulated  ? fmt::format(" ({:.3f}..{:.3f}, simulated, {} steps a seed)", at.simulated->low,
                                    at.simulated->high, grouped(at.simulated->steps))
        : at.from_own ? " (by its parts, from what is simulated at its own size)"
                      : " (by its parts)"));
}

void add_goodput(Lines& out, const FullControl& c) {
  out.push_back(
      TextLine::row(fmt::format("{:>9}  {:>11} {:>14} {:>8} {:>8} {:>8} {:>8} {:>8}", "nodes", "failure per",
                                "checkpoint per", "goodput", "writes", "rework", "restarts", "repair")));
  for (const GoodputPoint& p : c.goodput)
    out.push_back(TextLine::row(fmt::format(
        "{:>9}  {:>11} {:>14} {:>8} {:>8} {:>8} {:>8} {:>8}", grouped(p.nodes), to_string(p.costs.between),
        to_string(p.best.far), percent(p.at_best.work), percent(p.at_best.write), percent(p.at_best.rework),
        percent(p.at_best.restart), percent(p.at_best.waiting))));
  const GoodputPoint& first = c.goodput.front();
  if (first.given.far > Seconds{})
    out.push_back(fmt::format("the scenario's own interval, {}, leaves {}", to_string(first.given.far),
                              percent(first.at_given.work)));
  if (!c.most) return;
  out.push_back(fmt::format(
      "by failures alone, were a step as long at any size and each size at its own best interval: most work "
      "{} {} node{}, where {} of the time is work",
      c.most->censored ? "beyond" : "at", grouped(c.most->nodes), c.most->nodes == 1 ? "" : "s",
      percent(c.most->goodput)));
  if (c.most_with_steps)
    out.push_back(
        fmt::format("with steps that take longer on more nodes{}: most throughput at {} nodes",
                    first.given.far > Seconds{} ? " and checkpoints at the scenario's own interval" : "",
                    grouped(*c.most_with_steps)));
}

/// With its band where that differs in what is printed.
std::string banded_days(const Days& d) {
  const std::string value = day_text(d.total);
  if (!d.band) return value;
  const std::string unit = " days";
  const auto number = [&](Seconds s) { return day_text(s).substr(0, day_text(s).size() - unit.size()); };
  const std::string low = number(d.band->low);
  const std::string high = std::isfinite(d.band->high.count()) ? number(d.band->high) : "never";
  return low == high ? value : fmt::format("{} ({} to {})", value, low, high);
}

std::string banded_nodes(const NodesFor& n) {
  if (!n.nodes_low) return "";
  return n.nodes_high ? fmt::format(" ({} to {})", grouped(*n.nodes_low), grouped(*n.nodes_high))
                      : fmt::format(" ({} to none in time)", grouped(*n.nodes_low));
}

std::string shares_text(const DaysAt& d) {
  std::string out;
  for (std::size_t i = 0; i < kDaysParts; ++i) {
    const auto part = static_cast<DaysPart>(i);
    if (d.parts[i] <= Seconds{}) continue;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", name_of(part), percent(d.share(part)));
  }
  return out;
}

void add_day(Lines& out, const Days& d) {
  const std::int64_t failures = std::llround(d.failures);
  std::string line =
      fmt::format("{} node{}: {}, {} failure{}, {:.3g} node hours", grouped(d.nodes), d.nodes == 1 ? "" : "s",
                  banded_days(d), grouped(failures), failures == 1 ? "" : "s", d.node_hours);
  if (d.energy) line += ", " + to_string(*d.energy);
  if (d.cost)
    line += fmt::format(", {:.3g} {}", *d.cost, d.currency.empty() ? "of the price's currency" : d.currency);
  out.push_back(line);
  out.push_back("  " + shares_text(d));
  if (!d.at_stated) return;
  const bool ends = std::isfinite(d.at_stated->total.count());
  out.push_back(fmt::format(
      "  with a checkpoint every {}, the best interval of this size; at the scenario's own, {}: {}",
      to_string(d.intervals.far), to_string(d.at_stated->intervals.far),
      ends ? day_text(d.at_stated->total) : "never"));
  if (ends) out.push_back("    " + shares_text(*d.at_stated));
}

void add_nodes_for(Lines& out, const FullControl& c) {
  if (!c.nodes_for || !c.within) return;
  const NodesFor& n = *c.nodes_for;
  out.push_back(n.reached
                    ? fmt::format("within {}: {} node{}{}, {}", day_text(*c.within), grouped(n.at.nodes),
                                  n.at.nodes == 1 ? "" : "s", banded_nodes(n), banded_days(n.at))
                    : fmt::format("within {}: no number of nodes; {} ({})", day_text(*c.within), n.why,
                                  banded_days(n.at)));
}

void add_sensitivities(Lines& out, const std::vector<Sensitivity>& all) {
  for (const Sensitivity& s : all)
    out.push_back(fmt::format("  {} a fifth less {}, a fifth more {}", s.name, percent_change(s.at_less - 1),
                              percent_change(s.at_more - 1)));
}

}  // namespace

std::vector<TextLine> text_lines(const FullControl& c) {
  Lines out;
  if (c.levers) add_levers(out, *c.levers, c.played);
  if (c.levers && c.set && !c.set->already) add_alone(out, *c.levers, c.target);
  if (c.set) add_set(out, *c.set, c.target);
  add_control_elsewhere(out, c.controlled);
  if (!c.goodput.empty()) add_goodput(out, c);
  for (const Days& d : c.days) add_day(out, d);
  add_nodes_for(out, c);
  if (!c.sensitivities.empty())
    out.push_back(fmt::format("days on {} node{}, were one of these otherwise:",
                              grouped(c.days.front().nodes), c.days.front().nodes == 1 ? "" : "s"));
  add_sensitivities(out, c.sensitivities);
  for (const std::string& note : c.notes) out.push_back("note: " + note);
  return out;
}

}  // namespace cox::forecast
