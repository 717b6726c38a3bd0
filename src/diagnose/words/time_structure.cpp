// SPDX-License-Identifier: Apache-2.0
#include "diagnose/over_time/time_structure.hpp"

#include <fmt/format.h>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"

#include "diagnose/words/sentences.hpp"

namespace cox::diagnose {
namespace {

/// More changes than that are counted.
constexpr std::size_t kToldChanges = 6;
constexpr std::size_t kToldBursts = 3;
/// Stretches are told where they are so much longer than chance makes them.
constexpr double kLonger = 1.5;

using Lines = std::vector<std::string>;

void say_levels(const TimeStructure& t, Lines& lines) {
  // Between two times that have been told, single changes say no more.
  if (t.two_times && t.changes.size() > 1) return;
  for (std::size_t i = 0; i < std::min(t.changes.size(), kToldChanges); ++i) {
    const ChangePoint& c = t.changes[i];
    lines.push_back(fmt::format(
        "From step {} on a step takes {} instead of {} ({}; probability {:.2f}, between steps "
        "{} and {}).",
        c.first_step.value(), to_string(c.after), to_string(c.before), percent_change(c.shift_ratio),
        c.posterior, c.earliest_step.value(), c.latest_step.value()));
  }
  if (t.change_kind == LongStepKind::Everybody)
    lines.emplace_back(
        "The first change is in own work, on all ranks alike: clocks, power, or what they are given to do.");
  if (t.change_kind == LongStepKind::SomeRank)
    lines.push_back(fmt::format("The first change is in the own work of {}; the others wait for it.",
                                t.change_ranks.empty() ? "some rank" : subject_of(t.change_ranks)));
  if (t.change_kind == LongStepKind::Communication)
    lines.emplace_back("The first change is in nobody's own work: transfers take longer or shorter.");
  if (t.changes.size() > kToldChanges)
    lines.push_back(fmt::format("The usual time changes {} more times.", t.changes.size() - kToldChanges));
  if (t.drift)
    lines.push_back(
        fmt::format("Steps drift: {} from the first to the last.", percent_change(t.drift->total_ratio)));
}

void say_two_times(const TwoTimes& t, Lines& lines) {
  if (t.places.size() > 2) {
    std::string times;
    std::string shares;
    for (std::size_t k = 0; k < t.places.size(); ++k) {
      const char* between = k == 0 ? "" : k + 1 < t.places.size() ? ", " : " or ";
      times += between + to_string(t.places[k].time);
      shares += (k == 0 ? "" : ", ") + percent(t.places[k].share_ratio);
    }
    lines.push_back(fmt::format("Steps take one of {} times and hardly any between: {} ({} of them).",
                                t.places.size() == 3 ? "three" : "four", times, shares));
    return;
  }
  lines.push_back(fmt::format("Steps take one of two times and hardly any between: {} or {} ({} of them).",
                              to_string(t.low), to_string(t.high), percent(t.high_share_ratio)));
  if (t.stretch_steps > kLonger * t.scattered_steps)
    lines.push_back(
        fmt::format("The longer time holds for {:.0f} steps on end ({} stretches, steps {} to {}).",
                    t.stretch_steps, t.stretches, t.first_high.value(), t.last_high.value()));
  else
    lines.push_back(fmt::format("The longer ones are scattered over steps {} to {}.", t.first_high.value(),
                                t.last_high.value()));
}

void say_returns(const TimeStructure& t, Lines& lines) {
  if (t.tiers.empty() && t.recurrence)
    lines.push_back(
        fmt::format("Long steps come back about every {:.0f} steps ({} times, {:.0f} to {:.0f} apart).",
                    t.recurrence->period_steps, t.recurrence->episodes, t.recurrence->shortest_steps,
                    t.recurrence->longest_steps));
  for (const RecurrenceTier& tier : t.tiers)
    lines.push_back(fmt::format(
        "Long steps of {} to {} over the usual come back about every {:.0f} steps ({} times); they cost {} of the "
        "time.",
        percent(tier.least_over_ratio), percent(tier.most_over_ratio), tier.recurrence.period_steps,
        tier.recurrence.episodes, percent(tier.cost_ratio)));
  if (t.phase)
    lines.push_back(
        fmt::format("One step in every {} takes {} longer than the others (from step {} on, {} times).",
                    static_cast<std::int64_t>(t.phase->period_steps), percent(t.phase->over_ratio),
                    t.phase->first_step.value(), t.phase->repeats));
  for (std::size_t i = 0; i < std::min(t.bursts.size(), kToldBursts); ++i)
    lines.push_back(fmt::format("{} long steps come close together, between steps {} and {}.",
                                t.bursts[i].long_steps, t.bursts[i].first_step.value(),
                                t.bursts[i].last_step.value()));
  if (t.bursts.size() > kToldBursts)
    lines.push_back(fmt::format("{} more such bursts follow.", t.bursts.size() - kToldBursts));
}

void say_long_steps(const TimeStructure& t, Lines& lines) {
  if (t.long_count > 0)
    lines.push_back(fmt::format("{} of {} steps {} {} of the time.", t.long_count, t.count,
                                t.long_count == 1 ? "is long; it costs" : "are long; they cost",
                                percent(t.long_share_ratio)));
  if (t.is_costly())
    lines.push_back(fmt::format(
        "Time above the median is {} of all time; the slowest step in a hundred takes {:.2f} times the median, the "
        "slowest of all {:.2f} times.",
        percent(t.tail.above_median_ratio), t.tail.p99_ratio, t.tail.longest_ratio));
  if (t.long_kind == LongStepKind::Everybody)
    lines.emplace_back(
        "All ranks were long alike in them: an event of the whole job (checkpoint, evaluation, restart).");
  if (t.long_kind == LongStepKind::SomeRank)
    lines.emplace_back("In them some rank was late, the others were not.");
  if (t.long_kind == LongStepKind::Communication)
    lines.emplace_back("Nobody's own work was long in them: the communication was.");
}

// The same in few words. Percentages stand in brackets at the end: on a first screen there is room for three.

void say_levels_briefly(const TimeStructure& t, Lines& lines) {
  if (t.drift)
    lines.push_back(
        fmt::format("Steps drift from the first to the last ({}).", percent_change(t.drift->total_ratio)));
  if (t.changes.empty() || (t.two_times && t.changes.size() > 1)) return;
  const ChangePoint& first = t.changes.front();
  std::string text = fmt::format("From step {} on a step takes {} instead of {}", first.first_step.value(),
                                 to_string(first.after), to_string(first.before));
  if (t.changes.size() == 2)
    text +=
        fmt::format(", from step {} on {}", t.changes[1].first_step.value(), to_string(t.changes[1].after));
  const std::string in = t.change_kind == LongStepKind::Everybody       ? ", by the own work of all ranks"
                         : t.change_kind == LongStepKind::Communication ? ", by its transfers"
                         : !t.change_ranks.empty() ? ", by the own work of " + subject_of(t.change_ranks)
                                                   : std::string();
  text += fmt::format("{} ({}).", in, percent_change(first.shift_ratio));
  lines.push_back(std::move(text));
  if (t.changes.size() > 2)
    lines.push_back(fmt::format("The usual time changes {} more times, last at step {}.",
                                t.changes.size() - 1, t.changes.back().first_step.value()));
}

void say_returns_briefly(const TimeStructure& t, Lines& lines) {
  if (t.tiers.empty() && t.recurrence)
    lines.push_back(fmt::format("Long steps come back about every {:.0f} steps, {} times.",
                                t.recurrence->period_steps, t.recurrence->episodes));
  for (const RecurrenceTier& tier : t.tiers)
    lines.push_back(fmt::format(
        "Long steps of {:.3g} to {:.3g} times the usual come back about every {:.0f} steps ({} of the time).",
        1 + tier.least_over_ratio, 1 + tier.most_over_ratio, tier.recurrence.period_steps,
        percent(tier.cost_ratio)));
  if (t.phase)
    lines.push_back(fmt::format("One step in every {} takes longer ({}).",
                                static_cast<std::int64_t>(t.phase->period_steps),
                                percent_change(t.phase->over_ratio)));
  if (!t.bursts.empty())
    lines.push_back(fmt::format(
        "{} long steps come close together, between steps {} and {}{}.", t.bursts.front().long_steps,
        t.bursts.front().first_step.value(), t.bursts.front().last_step.value(),
        t.bursts.size() > 1 ? fmt::format("; {} more such bursts", t.bursts.size() - 1) : std::string()));
}

const char* whom_briefly(LongStepKind k) {
  return k == LongStepKind::Everybody       ? ", of all ranks alike"
         : k == LongStepKind::Communication ? ", by its communication"
                                            : "";
}

void say_cost_briefly(const TimeStructure& t, Lines& lines) {
  constexpr double kWorthSaying = 0.005;
  // By severity it has been told.
  if (t.tiers.empty() && t.long_count > 0 && (t.long_share_ratio >= kWorthSaying || t.is_quiet()))
    lines.push_back(t.long_count == 1 && !t.long_steps.empty()
                        ? fmt::format("Step {} is long, the only one{} ({} of the time).",
                                      t.long_steps.front().step.value(),
                                      whom_briefly(t.long_steps.front().kind), percent(t.long_share_ratio))
                        : fmt::format("{} of {} steps are long{} ({} of the time).", grouped(t.long_count),
                                      grouped(t.count), t.evident() ? "" : ", without a pattern",
                                      percent(t.long_share_ratio)));
  if (t.is_costly())
    lines.push_back(
        fmt::format("The slowest step in a hundred takes {:.2f} times the median, the slowest of all {:.2f} "
                    "times ({} of all time is above the median).",
                    t.tail.p99_ratio, t.tail.longest_ratio, percent(t.tail.above_median_ratio)));
}

}  // namespace

std::vector<std::string> describe_briefly(const TimeStructure& t) {
  if (t.count < TimeStructure::kLeastCount) return describe(t);
  Lines lines;
  if (t.is_quiet()) {
    std::string text = fmt::format("Nothing lasts{} in {} steps of {}",
                                   t.long_count == 0 ? ", comes back or stands out" : " or comes back",
                                   grouped(t.count), to_string(t.median));
    if (t.least_shift_ratio > 0)
      text +=
          fmt::format("; a lasting change would have been told (from {} on)", percent(t.least_shift_ratio));
    lines.push_back(text + ".");
  }
  say_levels_briefly(t, lines);
  if (t.two_times) say_two_times(*t.two_times, lines);
  say_returns_briefly(t, lines);
  say_cost_briefly(t, lines);
  return lines;
}

std::vector<std::string> describe(const TimeStructure& t) {
  if (t.count < TimeStructure::kLeastCount)
    return {fmt::format("Time structure: {} steps are too few to tell.", t.count)};
  Lines lines;
  say_levels(t, lines);
  if (t.two_times) say_two_times(*t.two_times, lines);
  say_returns(t, lines);
  if (lines.empty())
    lines.emplace_back("Time structure: no change point, no drift, nothing that comes back.");
  say_long_steps(t, lines);
  if (t.first_is_long) lines.emplace_back("The first step is a warm-up and was left out of the figures.");
  return lines;
}

}  // namespace cox::diagnose
