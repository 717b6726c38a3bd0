// SPDX-License-Identifier: Apache-2.0
#include "evaluate/pacing/page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"
#include "cox/pace/settings.hpp"

namespace cox::evaluate {
namespace {

using cox::to_string;

/// Of all conditions, how many the floor may leave open. Set before the run.
constexpr std::size_t kMostUnresolved = 2;

/// `+12.3`: a change where the head of the column says `%`.
std::string points(double change) {
  return without_percent(percent_change(change));
}

/// A part of the protocol, as it was set.
std::string set_percent(double part) {
  return percent(part, PartDigits::AsSet);
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

/// An arm of one start has no interval that the engine could lie in.
bool is_compared(const PacingEffect& e, const SimulatedEffect* s) {
  return s != nullptr && e.starts.size() >= 2;
}

std::string measured_row(const PacingEffect& e, const SimulatedEffect* s) {
  const std::string simulated = s == nullptr ? "-" : points(s->gain);
  const std::string same = !is_compared(e, s) ? "-" : agrees(e, *s) ? "yes" : "no";
  return fmt::format(
      "| {} | {} | {} | {} | {:.3f} → {:.3f} | {} | {} → {} | {} → {} | {} | {:.2f} | {} ({}){} |\n", e.arm,
      gain_text(shown_gain(e)), simulated, same, e.off.cv, e.on.cv, held_text(e), milliseconds(e.off.p99),
      milliseconds(e.on.p99), milliseconds(e.off.wait), milliseconds(e.on.wait), milliseconds(e.on.delay),
      e.off.energy > 0 ? e.on.energy / e.off.energy : 0, e.starts.size(), e.pairs(),
      e.struck > 0 ? fmt::format(", {} struck", e.struck) : "");
}

std::string resolved_text(const PacingConditionResult& r) {
  const std::string failed =
      r.failed_starts == 0 ? "" : fmt::format("; {} more broke off ({})", r.failed_starts, r.failure);
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
      "| condition | not worse than off by {} | above its bar | not worse than random by {} | CV "
      "while holding over off | floor |\n|---|---|---|---|---|---|\n",
      set_percent(study.protocol.harm), set_percent(study.protocol.harm));
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
                       has_bar ? fmt::format("+{}: {}", set_percent(c->bar), passed_text(r.superior)) : "-",
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
  const std::string ended =
      missing == 0 ? "" : fmt::format("The run was ended before {} conditions were measured.\n", missing);
  is_kept = is_kept && open.size() <= kMostUnresolved;
  return ended +
         fmt::format(
             "Unresolved: {} of {}{}{}. The plan allows {}, and none that has a bar: by its own rule the run {}.\n",
             open.size(), counted, open.empty() ? "" : ": ", fmt::join(open, ", "), kMostUnresolved,
             is_kept ? "decides" : "does not decide");
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

std::string gain_text(const ShownGain& g) {
  if (!g.has_interval) return points(g.gain);
  return without_percent(percent_change_within(g.gain, g.low, g.high));
}

PageSection protocol_section(const PacingStudy& study) {
  const PacingProtocol& p = study.protocol;
  std::string out = fmt::format(
      R"(## How it is measured

Real processes on one machine do what a condition says. {} cold starts of each condition: fixed beforehand, whatever they
show. In one start:

- The arms take turns inside one set of processes.
- `auto` begins cold in a segment of {} (or what its condition says), in chunks of at most {}. It is charged from its first step,
  with its trials.
- Beside each chunk stands a block of `off`, of at least {}.
- Each other arm has a block of {} steps beside one of them; `again`, which is off once more, beside each.
- The first {} steps of a block are dropped by rule, but none of `auto`. Both blocks of a pair begin with the same draws,
  and as many steps count on either side.
- Every other round runs backwards, and every other start is the one before it backwards.
- A pair is struck where the host took more than {} of the machine during either block; nothing else is discarded.

## How it is judged

- **The unit is the cold start**; the pairs of blocks in it are not independent. A start's effect is the mean log ratio of
  its pairs. `auto`'s is the log ratio of all time on either side; against random it is the median of its chunks.
- Interval ({}) and one-sided tests are Student's over starts. Their error is sd x sqrt(1/n + r/(1-r)) with r = {:g}: they
  hold although the starts of a condition may have a correlation of up to {:g}
  ([0023](../design/0023-pacing-evaluation.md) has the price).
- There are four families of tests; each is corrected over all conditions that have it (Holm, {}): not worse than off by
  {}; above the bar; not worse than random by {}; off against off beside 0.
- Off against off is the floor: where its half-width stays above {} the condition is unresolved.

Nothing is added until something is decided. No start begins that would end after {}. All of this stood in
studies/pacing.toml before the run{}.
)",
      p.starts, to_string(p.segment), to_string(p.chunk), to_string(p.chunk_off), p.block_windows * p.window,
      p.dropped_windows * p.window, set_percent(p.steal), set_percent(p.confidence), p.start_correlation,
      p.start_correlation, set_percent(p.alpha), set_percent(p.harm), set_percent(p.harm),
      set_percent(p.floor), to_string(p.limit), study.after.empty() ? "" : ", but for what is said below");
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
- {} starts on one machine on one day: starts that are more alike than assumed, or another machine, are not covered.
- A segment is short. The trials that come first weigh more in it than in a job of hours, and what a hold costs after
  minutes is not in it.
- `paper`, `always` and `random` begin anew in every block, live and in the engine, and show the {} steps after its first
  {}. Where the imbalance moves only every few hundred steps, a block does not see it move.
- `random` draws on average the whole share of the slack that a rank could give up; `auto` holds the best of four parts
  of it. So their mean delays differ: they are in the tables.
- Why engine and measurement part, where they do, is plausible and not shown. Ranks that spin: the engine takes turns of one
  length on each core, a kernel moves ranks between cores. Ranks that yield take nothing in the engine and a slice now and
  then in a kernel. Delays that change from step to step on the shared link: TCP does not share it anew at once.
- Arms with a priority know which ranks are slow. They show what priority can do, not what finding out costs.
- Energy is calculated from work and waiting, not measured.
)",
      p.starts, counted, p.dropped_windows * p.window)};
}

PageSection measured_section(const PacingStudy& study, const PacingResults& results,
                             std::span<const SimulatedCondition> simulated) {
  std::string out = fmt::format(
      R"(## Measured, and simulated beside it

Measured: {}.

{}Throughput against off in %, interval in brackets where there are two starts. Simulated: the controller of this tree in
the engine, without background traffic. Same: sign and size agree (see below). CV: of the steps, and of the paced ones
that most ranks hold (held). Energy: an estimate from work and waiting, on over off. Starts: cold starts (pairs).

{}
{})",
      machine_text(results), other_plan_text(study, results), verdict_table(study, results),
      floors_text(study, results));
  int rows = 0;
  int same = 0;
  int idle = 0;
  for (const PacingConditionResult& r : results.conditions) {
    const PacingCondition* c = named<PacingCondition>(study.conditions, r.name);
    if (c == nullptr || !r.skipped.empty() || r.effects.empty()) continue;
    const SimulatedCondition* s = named<SimulatedCondition>(simulated, r.name);
    out += fmt::format("\n### {}\n\n{}. {} {}, {}.\n\n", r.name, c->about, r.starts,
                       r.starts == 1 ? "start" : "starts", resolved_text(r));
    out +=
        "| arm | measured % | simulated % | same | CV off → on | held | p99 ms | wait ms | delay ms | energy "
        "| starts |\n|---|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|\n";
    for (const PacingEffect& e : r.effects) {
      const SimulatedEffect* beside = effect_of(s, e.arm);
      out += measured_row(e, beside);
      const bool is_row = is_compared(e, beside);
      rows += is_row ? 1 : 0;
      same += is_row && agrees(e, *beside) ? 1 : 0;
      idle += is_row && is_idle(study, e.arm) ? 1 : 0;
    }
  }
  if (rows > 0)
    out += fmt::format(
        "\nSimulated and measured agree in {} of {} rows with an interval: the same sign and a size within the larger of 5 "
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
  out += fmt::format("  {:<9} {:>24}  {:>16}  {:>6}  {:>16}  {:>8}  {:>6}\n", "arm", "throughput vs off, %",
                     "CV", "held", "p99, ms", "delay ms", "starts");
  for (const PacingEffect& e : r.effects)
    out += fmt::format("  {:<9} {:>24}  {:>6.3f} to {:>6.3f}  {:>6}  {:>6} to {:>6}  {:>8}  {:>6}{}\n", e.arm,
                       gain_text(shown_gain(e)), e.off.cv, e.on.cv, held_text(e), milliseconds(e.off.p99),
                       milliseconds(e.on.p99), milliseconds(e.on.delay), e.starts.size(),
                       e.struck > 0 ? fmt::format(" ({} struck)", e.struck) : "");
  for (const PacingEffect& e : r.effects)
    if (e.arm == kArmAuto)
      out += fmt::format("  auto: {} from cold starts, {} steps held, median of chunks {}\n",
                         to_string(e.on.lasted), e.held_steps,
                         gain_text({e.gain, e.low, e.high, e.starts.size() >= 2}));
  return out + fmt::format("  {}\n", resolved_text(r));
}

std::string verdict_text(const PacingStudy& study, const PacingResults& results) {
  std::string out = fmt::format("measured: {}\n", machine_text(results));
  for (const PacingConditionResult& r : results.conditions) {
    const PacingCondition* c = named<PacingCondition>(study.conditions, r.name);
    if (c == nullptr || !r.skipped.empty() || r.effects.empty()) continue;
    out += fmt::format("  {:<24} not worse than off by {}: {}", r.name, set_percent(study.protocol.harm),
                       passed_text(r.no_harm));
    if (c->bar > 0)
      out += fmt::format("; above +{}: {}; not worse than random: {}", set_percent(c->bar),
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
    all += lasts * static_cast<double>(study.protocol.starts);
    std::string arms = "off";
    for (const std::size_t arm : c.arms)
      if (depth == PacingDepth::Full || study.arms[arm].quick || study.arms[arm].name == kArmAuto)
        arms += " " + study.arms[arm].name;
    out += fmt::format("{:<24} {:>3} ranks  {:>3} blocks  {:>3} pairs  {:>5.0f} s  {}\n", c.name, c.job.ranks,
                       plan.blocks.size(), plan.pairs.size(), lasts.count(), arms);
  }
  return out +
         fmt::format(
             "{} starts of each: {:.1f} min in all, estimated from expected steps; no start begins that would end after {}\n",
             study.protocol.starts, all.count() / 60, to_string(study.protocol.limit));
}

}  // namespace cox::evaluate
