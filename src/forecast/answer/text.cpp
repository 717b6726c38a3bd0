// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"

#include "forecast/answer/forecast.hpp"
#include "forecast/answer/run_parameters_text.hpp"
#include "forecast/answer/structure_detail.hpp"

namespace cox::forecast {
namespace {

using Lines = std::vector<TextLine>;

constexpr std::size_t kMostListed = 3;  ///< of a list, on the first screen

std::string plural(std::int64_t n, const char* what) {
  return fmt::format("{} {}{}", grouped(n), what, n == 1 ? "" : "s");
}

std::string ratio(double x) {
  return x >= 100 ? grouped(std::llround(x)) : fmt::format("{:.{}f}", x, x >= 10 ? 1 : 2);
}

void add_input(Lines& out, const Input& input) {
  switch (input.kind) {
    case InputKind::SizeTable:
      out.push_back(fmt::format("{}: a table of sizes and values", input.name));
      return;
    case InputKind::Scenario:
      out.push_back(
          fmt::format("{}: a scenario of {}: stated, not measured", input.name, plural(input.ranks, "rank")));
      return;
    case InputKind::Study:
      out.push_back(
          fmt::format("{}: a study of a job from {} on, by the terms of its step: stated, not measured",
                      input.name, plural(input.ranks, "rank")));
      return;
    case InputKind::Run:
    case InputKind::StepTable:
      break;
  }
  const std::string nodes = input.nodes > 0 ? fmt::format(" on {}", plural(input.nodes, "node")) : "";
  const std::string meets =
      input.positions > 1 ? fmt::format(", {} synchronisations in each", input.positions) : "";
  out.push_back(fmt::format("{}: {}{}, {}{}, mean {} (measured)", input.name, plural(input.ranks, "rank"),
                            nodes, plural(input.steps, "step"), meets, to_string(input.step)));
}

void add_list(Lines& out, const char* title, const std::vector<std::string>& items, bool all) {
  const std::size_t shown = all ? items.size() : std::min(items.size(), kMostListed);
  for (std::size_t i = 0; i < shown; ++i) out.push_back(fmt::format("{}: {}", title, items[i]));
  if (shown < items.size())
    out.push_back(fmt::format("{}: {} more, with --all", title, items.size() - shown));
}

std::string band(const TimeBand& b) {
  return b.low == b.high ? std::string("no spread")
                         : fmt::format("{} .. {}", to_string(b.low), to_string(b.high));
}

/// The table of sizes.
void add_table(Lines& out, const FullForecast& f) {
  const bool fails = !f.goodput.empty();
  const auto failing = [fails](const std::string& goodput, const std::string& rate) {
    return fails ? fmt::format(" {:>8} {:>9}", goodput, rate) : std::string();
  };
  out.emplace_back();
  const auto efficiency = [](const SizePoint& p) { return p.efficiency > 0 ? percent(p.efficiency) : "-"; };
  std::size_t wide = 5;  // "over 99.9 %" is longer than all others
  for (const SizePoint& p : f.projection.points)
    if (p.refused.empty()) wide = std::max(wide, efficiency(p).size());
  out.push_back(
      TextLine::row(fmt::format("{:>9}  {:<8} {:<19} {:<8} {:>9} {:>{}}{}  {}", "ranks", "step", "90 % band",
                                "p99", "rate", "eff.", wide, failing("goodput", "net rate"), "regime")));
  for (std::size_t i = 0; i < f.projection.points.size(); ++i) {
    const SizePoint& p = f.projection.points[i];
    if (!p.refused.empty()) {
      out.push_back(fmt::format("{:>9} no number: {}", grouped(p.ranks), p.refused));
      continue;
    }
    const std::string net =
        fails ? failing(percent(f.goodput[i].shares.work), "x " + ratio(f.net_speed_up(i))) : "";
    out.push_back(TextLine::row(
        fmt::format("{:>9}  {:<8} {:<19} {:<8} {:>9} {:>{}}{}  {}", grouped(p.ranks), to_string(p.mean.value),
                    band(p.mean), p.p99.value > Seconds{} ? to_string(p.p99.value) : "-",
                    "x " + ratio(f.speed_up(p)), efficiency(p), wide, net, name_of(f.regime(i)))));
  }
  if (f.seen_ranks > 0)
    out.push_back(fmt::format("rate: throughput over that of {}{}; eff.: own work over step",
                              plural(f.seen_ranks, "rank"), fails ? " while the job runs" : ""));
  if (fails)
    out.emplace_back(
        "goodput: part of the wall time whose work counts; net rate: with what checkpoints, failures and restarts take");
}

/// What goodput may be where its inputs are known to a factor: at the largest size that has a number, or at all.
void add_goodput_bands(Lines& out, const FullForecast& f, bool all) {
  Lines lines;
  for (std::size_t i = f.goodput.size(); i-- > 0;) {
    const SizePoint& p = f.projection.points[i];
    if (!p.refused.empty()) continue;
    const SizeGoodput& g = f.goodput[i];
    lines.push_back(
        fmt::format("{} ranks: goodput {} .. {}, net rate x {} .. x {} (90 %, inputs known to a factor)",
                    grouped(p.ranks), percent(g.goodput.low), percent(g.goodput.high), ratio(g.net.low),
                    ratio(g.net.high)));
    if (!all) break;
  }
  out.insert(out.end(), lines.rbegin(), lines.rend());
}

/// Where they go at the largest size that has a number, where something fails.
void add_node_hours(Lines& out, const FullForecast& f) {
  if (f.goodput.empty()) return;
  for (std::size_t i = f.projection.points.size(); i-- > 0;) {
    const SizePoint& p = f.projection.points[i];
    if (!p.refused.empty()) continue;
    const NodeHours h = f.node_hours(i);
    out.push_back(fmt::format(
        "node hours at {} ranks{}: own work {}, communication {}, waiting {}, checkpoints {}, rework {}, restarts {}{}",
        grouped(p.ranks), p.not_simulated.empty() ? "" : " (by parts)", percent(h.own),
        percent(h.communication), percent(h.waiting), percent(h.writes), percent(h.rework),
        percent(h.restarts), h.repair > 0 ? ", repair " + percent(h.repair) : ""));
    const SizeGoodput& g = f.goodput[i];
    if (g.best_interval > Seconds{} && g.best_goodput > g.shares.work + 0.001)
      out.push_back(fmt::format("{} ranks: a failure every {}; a checkpoint every {} instead of {} leaves {}",
                                grouped(p.ranks), to_string(g.between), to_string(g.best_interval),
                                to_string(g.intervals.far), percent(g.best_goodput)));
    return;
  }
}

/// What a step and a sample draw, where a node's power is known: at the largest size that has a number, or at all.
void add_energy(Lines& out, const FullForecast& f, bool all) {
  Lines lines;
  for (std::size_t i = f.projection.points.size(); i-- > 0;) {
    const SizePoint& p = f.projection.points[i];
    if (!p.refused.empty()) continue;
    const auto step = f.energy_of_step(i);
    const auto sample = f.energy_of_sample(i);
    if (!step || !sample) return;
    lines.push_back(fmt::format("energy at {} ranks: {} a step; a sample takes x {} of that at {} ranks",
                                grouped(p.ranks), to_string(*step), ratio(*sample), grouped(f.seen_ranks)));
    if (!all) break;
  }
  out.insert(out.end(), lines.rbegin(), lines.rend());
}

std::string in_table_unit(const CurveForecast& c, double value) {
  return c.value == CurveValue::StepTime ? to_string(Seconds{value}) : fmt::format("{:.4g} /s", value);
}

/// Curves that noise does not tell apart need not agree.
std::string curve_regime(const CurvePrediction& p) {
  const std::string best(name_of(regime_of(p.elasticity_high)));
  const std::string worst(name_of(regime_of(p.elasticity_low)));
  if (p.measured) return std::string(name_of(regime_of(p.elasticity)));
  return best == worst ? best : fmt::format("{} to {}", best, worst);
}

/// The same for a table of sizes, and how well each curve did.
void add_curve(Lines& out, const CurveForecast& c, bool all) {
  out.emplace_back();
  out.push_back(TextLine::row(fmt::format("{:>9}  {:<11} {:<25} {:>10}  {}", "size",
                                          c.value == CurveValue::StepTime ? "step" : "throughput",
                                          "spread of curves", "rate", "regime")));
  for (const CurvePrediction& p : c.points) {
    if (!p.refused.empty()) {
      out.push_back(fmt::format("{:>9} no number: {}", grouped(p.size), p.refused));
      continue;
    }
    const std::string spread =
        p.measured ? "measured" : in_table_unit(c, p.low) + " .. " + in_table_unit(c, p.high);
    out.push_back(TextLine::row(fmt::format("{:>9}  {:<10} {:<24} {:>9}  {}", grouped(p.size),
                                            in_table_unit(c, p.value), spread,
                                            "x " + ratio(p.throughput_ratio), curve_regime(p))));
  }
  out.push_back(fmt::format("rate: throughput over that of size {}, the largest of {} given",
                            grouped(c.largest), c.sizes));
  out.emplace_back();
  for (const CurveModel& m : c.models)
    if (all || m.counts)
      out.push_back(fmt::format("curve: {} {}{}", m.name,
                                m.has_held_out
                                    ? fmt::format("misses {} by {} when fitted to the smaller sizes",
                                                  grouped(c.largest), percent_change(m.held_out))
                                    : std::string("too few sizes to hold one out"),
                                m.counts ? "" : ": not in the spread"));
}

/// Of one size of a strong scaling: what is not divided is in the second band, at every size but the largest, which says why.
void add_undivided(Lines& out, const FullForecast& f) {
  if (f.projection.scaling != Scaling::Strong || (f.parts && f.measured.empty())) return;
  const SizePoint* largest = nullptr;
  for (const SizePoint& p : f.projection.points)
    if (p.refused.empty() && (largest == nullptr || p.ranks > largest->ranks)) largest = &p;
  for (const SizePoint& p : f.projection.points)
    if (p.refused.empty() && p.ranks != largest->ranks && p.with_shared.high > p.mean.high)
      out.push_back(fmt::format("{} ranks: where up to half of own work at {} ranks is not divided, {}",
                                grouped(p.ranks), grouped(f.seen_ranks), band(p.with_shared)));
}

/// What the numbers rest on, at the largest size that has one.
void add_grounds(Lines& out, const FullForecast& f) {
  if (f.parts && f.measured.empty()) return;  // stated, not seen
  for (auto at = f.projection.points.rbegin(); at != f.projection.points.rend(); ++at) {
    if (!at->refused.empty()) continue;
    if (!at->rests_on.empty()) out.push_back(fmt::format("{} ranks: {}", grouped(at->ranks), at->rests_on));
    if (at->unseen_chance > 0.05 && at->with_unseen.high > at->mean.high)
      out.push_back(
          fmt::format("{} ranks: a slow node that was not seen is among them with {} (prior); then {}",
                      grouped(at->ranks), percent(at->unseen_chance), band(at->with_unseen)));
    const bool strong = f.projection.scaling == Scaling::Strong;
    if (at->with_shared.high > at->mean.high)
      out.push_back(fmt::format(
          "{} ranks: one size does not tell {}; where {}, {}; where all share something, up to N^{}{} "
          "(prior), {}",
          grouped(at->ranks), strong ? "growth, nor what is not divided" : "growth",
          strong ? "neither is" : "nothing grows", band(at->without_growth), plain_number(f.prior.shared),
          strong
              ? fmt::format(", and up to half of own work at {} ranks is not divided", grouped(f.seen_ranks))
              : "",
          band(at->with_shared)));
    return;
  }
}

std::string place(const RegimeBoundary& b) {
  switch (b.place) {
    case RegimeBoundary::Place::Below:
      return fmt::format("already at {}", grouped(b.ranks));
    case RegimeBoundary::Place::Inside:
      return fmt::format("at {}", grouped(b.ranks));
    case RegimeBoundary::Place::Above:
      break;
  }
  return fmt::format("beyond {}", grouped(b.ranks));
}

std::string range(const RegimeBoundary& low, const RegimeBoundary& high) {
  return low == high ? place(low) : place(low) + " .. " + place(high);
}

/// What is not in one size moves bends more than all that was measured.
void add_bend_bands(Lines& out, const Regimes& r) {
  out.push_back(fmt::format("bends, 90 % with what was not seen (prior): x 1.93 {}, x 1.41 {}",
                            range(r.n1.low, r.n1.high), range(r.n2.low, r.n2.high)));
  if (r.n1.shared_low != r.n1.low || r.n2.shared_low != r.n2.low || r.n2.shared_high != r.n2.high)
    out.push_back(fmt::format("bends, where all share something (prior): x 1.93 {}, x 1.41 {}",
                              range(r.n1.shared_low, r.n1.shared_high),
                              range(r.n2.shared_low, r.n2.shared_high)));
}

void add_bends(Lines& out, const FullForecast& f) {
  if (!f.regimes) return;  // where no size has a number, none bends
  const Regimes& r = *f.regimes;
  const auto because = [](const TransitionBand& t) {
    return t.because.empty() ? "" : " (" + t.because + ")";
  };
  out.push_back(fmt::format("bends: doubling gives less than x 1.93 {}{}, less than x 1.41 {}{}",
                            place(r.n1.value), because(r.n1), place(r.n2.value), because(r.n2)));
  if (f.calibrated) add_bend_bands(out, r);
  const auto drawn = [](const TransitionBand& t) { return t.low != t.value || t.high != t.value; };
  if (!f.calibrated && r.replicates > 0 && (drawn(r.n1) || drawn(r.n2) || drawn(r.n_star)))
    out.push_back(fmt::format("bends, 90 % of draws: x 1.93 {}, x 1.41 {}, most throughput {}",
                              range(r.n1.low, r.n1.high), range(r.n2.low, r.n2.high),
                              range(r.n_star.low, r.n_star.high)));
  out.push_back(fmt::format("most throughput: {} ranks{}", place(r.n_star.value), because(r.n_star)));
}

/// The same job with what its study does about it.
void add_stated_control(Lines& out, const FullForecast& f) {
  if (!f.controlled_job) return;
  const ControlledJob& c = *f.controlled_job;
  out.push_back(fmt::format("with control ({}): most throughput {} ranks, x {} of the most without", c.what,
                            place(c.regimes.n_star.value), ratio(c.most)));
}

std::string names_of(const std::vector<Margin>& margins) {
  std::string out;
  for (const Margin& one : margins) out += (out.empty() ? "" : ", ") + one.name;
  return out;
}

void add_margin(Lines& out, const FullForecast& f) {
  if (!f.margins) return;
  const Margins& m = *f.margins;
  const bool at_most =
      f.regimes && f.regimes->n_star.value.inside() && f.regimes->n_star.value.ranks == f.margins_at;
  if (m.crossed && at_most) return;  // N* itself: there is nothing to go back from
  std::string nearest;
  double least = 0;
  for (const Margin& one : m.alone) {
    if (!one.factor || one.within_error) continue;
    const double distance = std::abs(std::log(*one.factor));
    if (!nearest.empty() && distance >= least) continue;
    least = distance;
    nearest = fmt::format("{} x {:.2g}", one.name, *one.factor);
  }
  if (!nearest.empty())
    out.push_back(fmt::format("margin: {} ranks, now {}, {} {} with {}", grouped(f.margins_at),
                              name_of(regime_of(m.elasticity)), m.crossed ? "are back in" : "cross into",
                              name_of(regime_of(m.crossed ? m.level : m.level - 1e-9)), nearest) +
                  (m.other_side && *m.other_side > 0
                       ? fmt::format("; {} of draws with what was not seen are {} already",
                                     percent(*m.other_side), m.crossed ? "back" : "across")
                       : ""));
  else if (!m.crossed &&
           std::ranges::none_of(m.alone, [](const Margin& one) { return one.factor.has_value(); }))
    out.push_back(fmt::format("margin: {} ranks, now {}: none of {} alone takes them into {}",
                              grouped(f.margins_at), name_of(regime_of(m.elasticity)), names_of(m.alone),
                              name_of(regime_of(m.level - 1e-9))));
}

/// Times that differ in their fifth digit, in one unit.
std::string outside_line(const MeasuredSize& m) {
  const bool seconds = m.step >= Seconds{1}, millis = m.step >= Seconds{1e-3};
  const double unit = seconds ? 1 : millis ? 1e-3 : 1e-6;
  if (!(m.forecast.value > Seconds{}))
    return fmt::format("check: {} was measured at {} ranks, the model has no finite time there",
                       to_string(m.step), grouped(m.ranks));
  const char* name = seconds ? "s" : millis ? "ms" : "us";
  return fmt::format("check: {:.5g} {} was measured at {} ranks, the model says {:.5g} to {:.5g} {} there",
                     m.step.count() / unit, name, grouped(m.ranks), m.forecast.low.count() / unit,
                     m.forecast.high.count() / unit, name);
}

void add_goodness(Lines& out, const FullForecast& f) {
  if (f.goodness && f.goodness->reproduces && f.goodness->distance > f.goodness->limit)
    out.emplace_back("check: neither the recorded steps nor those of the calibrated Scenario vary");
  else if (f.goodness && f.goodness->reproduces && !f.goodness->has_power())
    out.push_back(fmt::format(
        "check: says nothing here: runs of the calibrated Scenario differ from one another by as much "
        "(distance {:.3f}, by chance up to {:.3f})",
        f.goodness->distance, f.goodness->limit));
  else if (f.goodness)
    out.push_back(
        f.goodness->reproduces
            ? fmt::format("check: the calibrated Scenario reproduces the recorded steps (distance {:.3f}, by "
                          "chance up to {:.3f})",
                          f.goodness->distance, f.goodness->limit)
            : fmt::format("check: the calibrated Scenario does not reproduce the recorded steps: {}",
                          f.goodness->because));
  else if (const std::vector<std::string> simulated = simulated_lines(f.simulated); !simulated.empty())
    out.insert(out.end(), simulated.begin(), simulated.end());
  else if (!f.no_goodness.empty() && !f.curve)
    out.push_back(fmt::format("check: not made: {}", f.no_goodness));
  if (f.goodness && f.goodness->means.differ())
    out.push_back(fmt::format(
        "check: its runs take {} to {} a step ({} recorded): each seed draws anew who is slow for good",
        to_string(f.goodness->means.low), to_string(f.goodness->means.high),
        to_string(f.goodness->means.recorded)));
  for (const MeasuredSize& m : f.measured)
    if (!m.inside) out.push_back(outside_line(m));
}

std::string interval(const LeverRatio& r) {
  return fmt::format("{:.3f}..{:.3f}", r.low, r.high);
}

/// Throughput beside time to a target.
void add_learned_levers(Lines& out, const LearnedControl& c) {
  if (c.levers.empty()) return;
  out.push_back(TextLine::row(fmt::format("{:<19} {:>6} {:>8} {:>14} {:>9} {:>14}", "", "rate", "samples",
                                          "90 % interval", "to target", "90 % interval")));
  std::int64_t ranks = c.levers.front().ranks;
  const bool one_size =
      std::ranges::all_of(c.levers, [&](const LearnedLever& l) { return l.ranks == ranks; });
  ranks = one_size ? ranks : 0;
  for (const LearnedLever& l : c.levers) {
    if (l.ranks != ranks) out.push_back(TextLine::row(fmt::format("on {} ranks", grouped(l.ranks))));
    ranks = l.ranks;
    out.push_back(l.why_not.empty()
                      ? TextLine::row(fmt::format("{:<19} {:>6.3f} {:>8.3f} {:>14} {:>9.3f} {:>14}", l.name,
                                                  l.throughput.value, l.samples.value, interval(l.samples),
                                                  l.time.value, interval(l.time)))
                      : TextLine::row(fmt::format("{:<19} no number: {}", l.name, l.why_not)));
  }
}

/// Sizes, and where more of them stop to pay, when samples count by what they are worth.
void add_learned_sizes(Lines& out, const LearnedControl& c) {
  if (!c.sizes.empty())
    out.push_back(TextLine::row(fmt::format("{:>19} {:>6} {:>8} {:>14} {:>9}", "ranks", "rate", "samples",
                                            "90 % interval", "to target")));
  for (const LearnedSize& s : c.sizes)
    out.push_back(
        s.why_not.empty()
            ? TextLine::row(fmt::format("{:>19} {:>6.4g} {:>8.3f} {:>14} {:>9.3f}", grouped(s.ranks),
                                        s.throughput, s.samples.value, interval(s.samples), s.time_ratio))
            : TextLine::row(fmt::format("{:>19} no number: {}", grouped(s.ranks), s.why_not)));
  if (!c.no_regimes.empty()) {
    out.push_back("bends in samples that count: " + c.no_regimes);
    return;
  }
  const Regimes& r = c.regimes;
  const auto because = [](const TransitionBand& t) {
    return t.because.empty() ? "" : fmt::format(" ({})", t.because);
  };
  out.push_back(fmt::format(
      "bends in samples that count: doubling gives less than x 1.93 {}{}, less than x 1.41 {}{}; by seed {}, and {}",
      place(r.n1.value), because(r.n1), place(r.n2.value), because(r.n2), range(r.n1.low, r.n1.high),
      range(r.n2.low, r.n2.high)));
  out.push_back(fmt::format("least time to the target: {} ranks{}, by seed {}", place(r.n_star.value),
                            because(r.n_star), range(r.n_star.low, r.n_star.high)));
}

void add_learned_lines(Lines& out, const LearnedControl& c) {
  out.push_back("with what they do to learning: " + c.what);
  add_learned_levers(out, c);
  add_learned_sizes(out, c);
  out.emplace_back(
      "samples: that count until the target, each job at its own best step size; to target: time, samples over rate; a "
      "problem of this size says nothing of how well a large model generalises");
  add_list(out, "note", c.notes, true);
}

/// Own work by position and role, for --all.
void add_parts(Lines& out, const FullForecast& f) {
  if (!f.parts) return;
  const auto time = [](const TimeEstimate& t) {
    return fmt::format("{} ({} .. {}{})", to_string(t.value), to_string(t.low), to_string(t.high),
                       t.origin == Origin::Range    ? ", a range"
                       : t.origin == Origin::Stated ? ", stated"
                                                    : "");
  };
  for (const PositionParts& p : f.parts->positions) {
    out.emplace_back();
    out.push_back(fmt::format("own work {}{}", p.name.empty() ? "of a step" : p.name,
                              p.role > 0 ? fmt::format(", role {}", p.role) : ""));
    out.push_back(TextLine::row("  level                  " + time(p.level)));
    out.push_back(TextLine::row("  sd of ranks, for good  " + time(p.rank)));
    out.push_back(TextLine::row("  sd of nodes, for good  " + time(p.node)));
    out.push_back(TextLine::row("  sd of steps            " + time(p.step)));
    out.push_back(TextLine::row("  sd of node in step     " + time(p.node_step)));
    out.push_back(TextLine::row("  sd of what is left     " + time(p.residual_sd)));
    if (p.tail_probability > 0)
      out.push_back(TextLine::row(
          fmt::format("  tail                   of {}, shape {:.2f} ({:.2f} .. {:.2f})",
                      percent(p.tail_probability), p.tail_shape.value, p.tail_shape.low, p.tail_shape.high)));
    out.push_back(TextLine::row(fmt::format("  from step to step      correlation {:.2f}, drift {}",
                                            p.correlation.value, to_string(p.drift.value))));
  }
  out.push_back(TextLine::row("communication            " + time(f.parts->rest)));
  for (const std::string& note : f.scenario_notes) out.push_back("scenario: " + note);
}

}  // namespace

std::vector<TextLine> text_lines(const FullForecast& f, bool all) {
  Lines out;
  for (const Input& input : f.inputs) add_input(out, input);
  add_list(out, "contradiction", f.contradictions, true);
  out.emplace_back(f.projection.scaling == Scaling::Weak
                       ? "weak scaling: every rank has as much to do at any size"
                       : "strong scaling: all ranks together have as much to do at any size");
  if (f.curve)
    add_curve(out, *f.curve, all);
  else
    add_table(out, f);
  if (!f.curve) out.emplace_back();
  add_goodput_bands(out, f, all);
  add_node_hours(out, f);
  add_energy(out, f, all);
  add_undivided(out, f);
  add_grounds(out, f);
  add_bends(out, f);
  add_stated_control(out, f);
  add_margin(out, f);
  for (std::string& line : structure_lines(f)) out.push_back(std::move(line));
  add_goodness(out, f);
  for (std::string& line : run_lines(f.run, all)) out.push_back(std::move(line));
  if (const std::string said = changes_of(f.prior); !said.empty())
    out.push_back(f.curve ? "prior: " + said + ": without effect, a table of sizes is fitted as it is"
                          : "prior, as was said: " + said);
  add_list(out, "note", f.projection.notes, all);
  add_list(out, "not seen", f.not_seen, all);
  add_list(out, "left out", f.left_out, all);
  if (f.detail) {
    out.emplace_back();
    for (std::string& line : structure_detail_lines(f)) out.push_back(std::move(line));
  }
  if (f.full_control) {
    out.emplace_back();
    const Lines control = text_lines(*f.full_control);
    out.insert(out.end(), control.begin(), control.end());
  }
  if (f.learned) add_learned_lines(out, *f.learned);
  if (all) add_parts(out, f);
  return out;
}

}  // namespace cox::forecast
