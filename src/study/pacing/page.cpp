// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"
#include "cox/pace/settings.hpp"
#include "cox/study/pacing_page.hpp"

namespace cox::study {
namespace {

using cox::to_string;

/// Of all conditions, how many the floor may leave open. Set before the run.
constexpr std::size_t kMostUnresolved = 2;

/// `+12.3`: a change where the head of the column says `%`.
std::string points(double change) {
  std::string text = percent_change(change);
  text.resize(text.size() - 2);
  return text;
}

std::string interval(const ShownGain& g) {
  return fmt::format("{} [{}, {}]", points(g.gain), points(g.low), points(g.high));
}

std::string milliseconds(Seconds s) {
  return fmt::format("{:.2f}", s.count() * 1e3);
}

template <class T>
const T* named(std::span<const T> all, std::string_view name) {
  const auto at = std::find_if(all.begin(), all.end(), [&](const T& t) { return t.name == name; });
  return at == all.end() ? nullptr : &*at;
}

const PacingCondition* condition_named(const PacingStudy& study, std::string_view name) {
  const PacingCondition* c = named<PacingCondition>(study.conditions, name);
  return c != nullptr ? c : named<PacingCondition>(study.sizes, name);
}

const SimulatedEffect* effect_of(const SimulatedCondition* c, std::string_view arm) {
  if (c == nullptr) return nullptr;
  const auto at = std::find_if(c->effects.begin(), c->effects.end(),
                               [&](const SimulatedEffect& e) { return e.arm == arm; });
  return at == c->effects.end() ? nullptr : &*at;
}

/// Whether an arm is off under another name, or only looks.
bool is_idle(const PacingStudy& study, std::string_view name) {
  const PacingArm* arm = named<PacingArm>(study.arms, name);
  if (arm == nullptr || arm->wait || arm->nice != 0) return false;
  pace::Settings settings;
  [[maybe_unused]] const auto read = pace::set_all(settings, arm->settings.c_str());
  return settings.mode <= pace::Mode::Observe;
}

std::string held_text(const PacingEffect& e) {
  return e.held_cv > 0 ? fmt::format("{:.3f}", e.held_cv) : "-";
}

std::string measured_row(const PacingEffect& e, const SimulatedEffect* s) {
  const std::string simulated = s == nullptr ? "-" : points(s->gain);
  const std::string same = s == nullptr ? "-" : agrees(e, *s) ? "yes" : "no";
  return fmt::format(
      "| {} | {} | {} | {} | {:.3f} → {:.3f} | {} | {} → {} | {} → {} | {} | {:.2f} | {}{} |\n", e.arm,
      interval(shown_gain(e)), simulated, same, e.off.cv, e.on.cv, held_text(e), milliseconds(e.off.p99),
      milliseconds(e.on.p99), milliseconds(e.off.wait), milliseconds(e.on.wait), milliseconds(e.on.delay),
      e.off.energy > 0 ? e.on.energy / e.off.energy : 0, e.pairs,
      e.struck > 0 ? fmt::format(" ({} struck)", e.struck) : "");
}

std::string resolved_text(const PacingConditionResult& r) {
  const std::string failed =
      r.failed_groups == 0 ? "" : fmt::format("; {} more broke off ({})", r.failed_groups, r.failure);
  if (r.floor_half_width < 0) return "floor not measured" + failed;
  return fmt::format("floor ±{}, {}{}", percent_change(r.floor_half_width, ChangeSign::InWords),
                     r.is_resolved ? "resolved" : "unresolved", failed);
}

std::string passed_text(const PacingVerdict& v) {
  return fmt::format("{} (p = {:.4f})", v.passed ? "yes" : "no", v.p);
}

/// Whether the CV while holding is small enough against that of off.
std::string cv_text(const PacingCondition& c, const PacingConditionResult& r) {
  for (const PacingEffect& e : r.effects) {
    if (e.arm != kArmAuto || c.cv_bar <= 0 || e.off.cv <= 0) continue;
    if (e.held_cv <= 0) return "no (never held long enough)";
    const double ratio = e.held_cv / e.off.cv;
    return fmt::format("{} ({:.2f})", ratio <= c.cv_bar ? "yes" : "no", ratio);
  }
  return "-";
}

std::string verdict_table(const PacingStudy& study, const PacingResults& results) {
  std::string out = fmt::format(
      "| condition | not worse than off by {:g} % | above its bar | not worse than random by {:g} % | CV "
      "while holding over off | floor |\n|---|---|---|---|---|---|\n",
      100 * study.protocol.harm, 100 * study.protocol.harm);
  for (const PacingConditionResult& r : results.conditions) {
    const PacingCondition* c = named<PacingCondition>(study.conditions, r.name);
    if (c == nullptr) continue;
    if (!r.skipped.empty()) {
      out += fmt::format("| {} | skipped: {} | | | | |\n", r.name, r.skipped);
      continue;
    }
    if (r.effects.empty()) {
      out += fmt::format("| {} | not measured | | | | |\n", r.name);
      continue;
    }
    const bool has_bar = c->bar > 0;
    out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", r.name, passed_text(r.no_harm),
                       has_bar ? fmt::format("{:+g} %: {}", 100 * c->bar, passed_text(r.superior)) : "-",
                       has_bar ? passed_text(r.no_worse_than_random) : "-", cv_text(*c, r), resolved_text(r));
  }
  return out;
}

/// Which conditions the floor leaves open, and whether those are few enough.
/// Empty where no floor was measured.
std::string floors_text(const PacingStudy& study, const PacingResults& results) {
  std::size_t measured = 0;
  std::size_t counted = 0;
  std::vector<std::string> open;  // what was skipped or has no floor is as open as what has a wide one

  bool is_kept = true;
  for (const PacingConditionResult& r : results.conditions) {
    ++counted;
    measured += r.floor_half_width >= 0 ? 1 : 0;
    if (r.is_resolved) continue;
    open.push_back(r.name);
    const PacingCondition* c = named<PacingCondition>(study.conditions, r.name);
    is_kept = is_kept && (c == nullptr || c->bar <= 0);
  }
  if (measured == 0) return "";
  std::size_t missing = 0;
  for (const PacingConditionResult& r : results.conditions)
    missing += r.effects.empty() && r.skipped.empty() ? 1 : 0;
  const std::string ended = missing == 0 ? ""
                                         : fmt::format(
                                               "The run was ended before {} conditions were measured and "
                                               "before groups were added to others.\n",
                                               missing);
  is_kept = is_kept && open.size() <= kMostUnresolved;
  return ended + fmt::format("Unresolved: {} of {}{}{}. At most {} may be, and none that has a bar: {}.\n",
                             open.size(), counted, open.empty() ? "" : ": ", fmt::join(open, ", "),
                             kMostUnresolved, is_kept ? "so it is" : "not so");
}

std::string machine_text(const PacingResults& r) {
  return fmt::format("{} on {} cores, kernel {}, load {:.2f} at the beginning", r.machine.date,
                     r.machine.cores, r.machine.kernel, r.machine.load_before);
}

/// Whether the protocol above is the one that was measured by.
std::string other_plan_text(const PacingStudy& study, const PacingResults& r) {
  if (r.plan == study.digest) return "";
  return fmt::format("**These results were measured by another plan (digest {}, the one above has {}).**\n\n",
                     r.plan.empty() ? "unknown" : r.plan, study.digest);
}

}  // namespace

PageSection protocol_section(const PacingStudy& study) {
  const PacingProtocol& p = study.protocol;
  std::string out = fmt::format(
      R"(## How it is measured

Real processes on one machine do what a condition says. The arms take turns inside one set of processes, in
randomised blocks (off on on off, or on off off on) of {} windows of {} steps whose first {} are dropped by rule. Both
blocks of a pair begin with the same draws. `auto` begins cold in a segment of at least {} that is interleaved with
chunks of off; it is charged from its first step, with its trials. The unit is a pair of blocks: median log ratio with
a bootstrap interval of {:g} % ({} draws) over pairs, widened by Student's quantile for their number; a p value is the
larger of the bootstrap's and Student's. For `auto` it is the ratio of all time on either side, and its tests against
off hold with both. Against random it is the medians of pairs: both after their decision. One-sided tests are
corrected (Holm), each of the three kinds over all conditions that have it and were measured.
)",
      p.block_windows, p.window, p.dropped_windows * p.window, to_string(p.segment), 100 * p.confidence,
      p.draws);
  out += fmt::format(
      R"(Groups of pairs are added until nothing is undecided, up to {} of a condition and while {} of the whole evaluation
last: of `again`, and of `auto` (and random, where there is a bar) as long as a corrected test of it is open; those with a
bar first. A pair is struck where the host took more than {:g} % of the machine during either block; nothing else is
discarded. `again` is off against off: where its half-width stays above {:g} % the condition is unresolved. All of
this stood in studies/pacing.toml before the run{}.
)",
      p.groups, to_string(p.limit), 100 * p.steal, 100 * p.floor,
      study.after.empty() ? "" : ", but for what is said below");
  if (!study.before.empty()) out += fmt::format("\nBefore that: {}\n", study.before);
  if (!study.after.empty()) out += fmt::format("\nSince then: {}\n", study.after);
  return {out};
}

PageSection limits_section(const PacingStudy& study) {
  const PacingProtocol& p = study.protocol;
  const std::int64_t counted = (p.block_windows - p.dropped_windows) * p.window;
  return {fmt::format(
      R"(## What it cannot tell

- It is emulated training on one machine: compute is a timer or processor time. Nothing here is about accelerators or
  real fabrics.
- The chunks of a segment share one cold start. Their interval says how well that one was measured; how often `auto`
  would decide otherwise shows only from group to group. Where a chunk was struck, less than the segment is charged.
- Groups are added after a look at the data, which the correction does not count.
- `paper`, `always` and `random` begin anew in every block, live and in the engine, and show the {} steps after its first
  {}. Where the imbalance moves only every few hundred steps, a block does not see it move.
- `random` draws on average the whole share of the slack that a rank could give up; `auto` holds the best of four parts
  of it. So their mean delays differ: they are in the tables.
- The floor is a width: a condition is resolved where off against off is known to 0.5 %, also if its interval lies beside
  0, as one of 20 does.
- Where engine and measurement part: intervals of few pairs that are wider than 2 %; ranks that spin, for which the engine
  takes turns of one length on each core, while a kernel moves them between cores and lets others in; ranks that yield,
  which take nothing in the engine and a slice now and then in a kernel; delays that change from step to step on the shared
  link, which TCP does not share anew at once. The reasons are plausible and not shown.
- Arms with a priority know which ranks are slow. They show what priority can do, not what finding out costs.
- Energy is calculated from work and waiting, not measured.
)",
      counted, p.dropped_windows * p.window)};
}

PageSection measured_section(const PacingStudy& study, const PacingResults& results,
                             std::span<const SimulatedCondition> simulated) {
  std::string out = fmt::format(
      "## Measured, and simulated beside it\n\nMeasured: {}.\n\nThroughput against off in %, interval in "
      "brackets. Simulated: the controller of this tree in the engine, without\nbackground traffic; the measured "
      "`auto` is the one before its error was bounded over the whole job and before it\nlooked for late costs "
      "(docs/design/0009), so its rows set two controllers side by side. Same: sign and "
      "size agree (see below). CV of the steps, and of those in paced blocks after the\ndecision (held). "
      "Energy: an estimate from work and waiting, on over off.\n\n{}{}\n{}",
      machine_text(results), other_plan_text(study, results), verdict_table(study, results),
      floors_text(study, results));
  int rows = 0;
  int same = 0;
  int idle = 0;
  for (const PacingConditionResult& r : results.conditions) {
    const PacingCondition* c = named<PacingCondition>(study.conditions, r.name);
    if (c == nullptr || !r.skipped.empty() || r.effects.empty()) continue;
    const SimulatedCondition* s = named<SimulatedCondition>(simulated, r.name);
    out += fmt::format("\n### {}\n\n{}. {} {}, {}.\n\n", r.name, c->about, r.groups,
                       r.groups == 1 ? "group" : "groups", resolved_text(r));
    out +=
        "| arm | measured % | simulated % | same | CV off → on | held | p99 ms | wait ms | delay ms | energy "
        "| pairs |\n|---|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|\n";
    for (const PacingEffect& e : r.effects) {
      const SimulatedEffect* beside = effect_of(s, e.arm);
      out += measured_row(e, beside);
      rows += beside != nullptr ? 1 : 0;
      same += beside != nullptr && agrees(e, *beside) ? 1 : 0;
      idle += beside != nullptr && is_idle(study, e.arm) ? 1 : 0;
    }
  }
  if (rows > 0)
    out += fmt::format(
        "\nSimulated and measured agree in {} of {} rows: the same sign and a size within the larger of 5 "
        "points and 40 % where the\nmeasured interval leaves 0 out, both within 2 % elsewhere. Of these rows "
        "{} are of arms that do nothing, for which the\nengine says 0 by itself.\n",
        same, rows, idle);
  return {out};
}

PageSection table_link_section() {
  return {
      "## Table 1 of the paper\n\nFitted to its Baseline column, its Coordination column predicted: "
      "[pacing-table](pacing-table.md) (`cox study pacing-table`).\n"};
}

std::string pacing_page(const PacingStudy& study, std::span<const PageSection> sections) {
  std::string out = fmt::format(
      "# {}\n\nMade by `cox study pacing --from docs/studies/pacing.json -o docs/studies`; "
      "measured by `cox study pacing --full`.\n",
      study.title);
  for (const PageSection& s : sections)
    if (!s.markdown.empty()) out += "\n" + s.markdown;
  return out;
}

std::string condition_text(const PacingStudy& study, const PacingConditionResult& r) {
  const PacingCondition* c = condition_named(study, r.name);
  std::string out = fmt::format("{}: {}\n", r.name, c == nullptr ? "" : c->about);
  if (!r.skipped.empty()) return out + fmt::format("  skipped: {}\n", r.skipped);
  out += fmt::format("  {:<9} {:>24}  {:>16}  {:>6}  {:>16}  {:>8}  {:>5}\n", "arm", "throughput vs off, %",
                     "CV", "held", "p99, ms", "delay ms", "pairs");
  for (const PacingEffect& e : r.effects)
    out += fmt::format("  {:<9} {:>24}  {:>6.3f} to {:>6.3f}  {:>6}  {:>6} to {:>6}  {:>8}  {:>5}{}\n", e.arm,
                       interval(shown_gain(e)), e.off.cv, e.on.cv, held_text(e), milliseconds(e.off.p99),
                       milliseconds(e.on.p99), milliseconds(e.on.delay), e.pairs,
                       e.struck > 0 ? fmt::format(" ({} struck)", e.struck) : "");
  for (const PacingEffect& e : r.effects)
    if (e.arm == kArmAuto)
      out += fmt::format("  auto: {} from a cold start, {} steps held, median of chunks {}\n",
                         to_string(e.on.lasted), e.held_steps, interval({e.gain, e.low, e.high}));
  return out + fmt::format("  {}\n", resolved_text(r));
}

std::string verdict_text(const PacingStudy& study, const PacingResults& results) {
  std::string out = fmt::format("measured: {}\n", machine_text(results));
  for (const PacingConditionResult& r : results.conditions) {
    const PacingCondition* c = named<PacingCondition>(study.conditions, r.name);
    if (c == nullptr || !r.skipped.empty() || r.effects.empty()) continue;
    out += fmt::format("  {:<24} not worse than off by {:g} %: {}", r.name, 100 * study.protocol.harm,
                       passed_text(r.no_harm));
    if (c->bar > 0)
      out += fmt::format("; above {:+g} %: {}; not worse than random: {}", 100 * c->bar,
                         passed_text(r.superior), passed_text(r.no_worse_than_random));
    if (c->cv_bar > 0)
      out += fmt::format("; CV while holding at most {:.1f} of off: {}", c->cv_bar, cv_text(*c, r));
    out += "\n";
  }
  return out + floors_text(study, results);
}

std::string plan_text(const PacingStudy& study, PacingDepth depth) {
  std::string out;
  Seconds all{};
  std::vector<PacingCondition> planned = study.conditions;
  if (depth == PacingDepth::Full) planned.insert(planned.end(), study.sizes.begin(), study.sizes.end());
  for (const PacingCondition& c : planned) {
    if (depth == PacingDepth::Quick && !c.quick) continue;
    const PacingPlan plan = plan_pacing(study, c, c.arms, depth, 0);
    const Seconds lasts = plan.lasts(c);
    all += lasts;
    std::string arms = "off";
    for (const std::size_t arm : c.arms)
      if (depth == PacingDepth::Full || study.arms[arm].quick) arms += " " + study.arms[arm].name;
    out += fmt::format("{:<24} {:>3} ranks  {:>3} blocks  {:>3} pairs  {:>5.0f} s  {}\n", c.name, c.job.ranks,
                       plan.blocks.size(), plan.pairs.size(), lasts.count(), arms);
  }
  out += fmt::format("{:.0f} s in all, estimated from expected steps", all.count());
  if (depth == PacingDepth::Full)
    out += fmt::format("; undecided conditions get up to {} such groups while {} last", study.protocol.groups,
                       to_string(study.protocol.limit));
  return out + "\n";
}

}  // namespace cox::study
