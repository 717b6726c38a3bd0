// SPDX-License-Identifier: Apache-2.0
#include "diagnose/over_time/time_structure.hpp"

#include <fmt/format.h>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"

namespace cox::diagnose {

std::vector<std::string> describe(const TimeStructure& t) {
  if (t.count < TimeStructure::kLeastCount)
    return {fmt::format("Time structure: {} steps are too few to tell.", t.count)};
  std::vector<std::string> lines;
  for (const ChangePoint& c : t.changes)
    lines.push_back(fmt::format(
        "From step {} on a step takes {} instead of {} ({}; probability {:.2f}, between steps "
        "{} and {}).",
        c.first_step.value(), to_string(c.after), to_string(c.before), percent_change(c.shift_ratio),
        c.posterior, c.earliest_step.value(), c.latest_step.value()));
  if (t.drift)
    lines.push_back(
        fmt::format("Steps drift: {} from the first to the last.", percent_change(t.drift->total_ratio)));
  if (t.recurrence)
    lines.push_back(
        fmt::format("Long steps come back about every {:.0f} steps ({} times, {:.0f} to {:.0f} apart).",
                    t.recurrence->period_steps, t.recurrence->episodes, t.recurrence->shortest_steps,
                    t.recurrence->longest_steps));
  if (lines.empty())
    lines.emplace_back("Time structure: no change point, no drift, nothing that comes back.");
  if (t.long_count > 0)
    lines.push_back(fmt::format("{} of {} steps {} {} of the time.", t.long_count, t.count,
                                t.long_count == 1 ? "is long; it costs" : "are long; they cost",
                                percent(t.long_share_ratio)));
  if (t.long_kind == LongStepKind::Everybody)
    lines.emplace_back(
        "All ranks were long alike in them: an event of the whole job (checkpoint, evaluation, restart).");
  if (t.long_kind == LongStepKind::SomeRank)
    lines.emplace_back("In them some rank was late, the others were not.");
  if (t.long_kind == LongStepKind::Communication)
    lines.emplace_back("Nobody's own work was long in them: the communication was.");
  if (t.first_is_long) lines.emplace_back("The first step is a warm-up and was left out of the figures.");
  return lines;
}

}  // namespace cox::diagnose
