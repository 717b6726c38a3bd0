// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "cox/base/number_text.hpp"

#include "forecast/answer/forecast.hpp"
#include "forecast/control/carried.hpp"
#include "forecast/levers/levers.hpp"
#include "forecast/scenario/as_training.hpp"

namespace cox::forecast {
namespace {

constexpr int kMostSteps = 500;  ///< that were recorded, of each replica

/// Why its calibrated Scenario says nothing of levers; empty = it does.
std::string why_none(const FullForecast& f) {
  if (!f.scenario) return f.no_scenario;
  if (!f.goodness) return f.no_goodness;
  return f.goodness->reproduces ? std::string()
                                : "the calibrated Scenario does not reproduce the recorded steps";
}

Result<LeverTable> play_levers(const FullForecast& f, const ControlQuestion& question) {
  model::Scenario training = *f.scenario;
  if (!std::holds_alternative<model::TrainingJob>(training.job.work)) {
    COX_TRY(training, as_training(*f.scenario));
  }
  training.job.steps = std::min(training.job.steps, kMostSteps * f.told.synchronisations);
  return compare_levers(training, carried_levers(training, f.told), question.options);
}

}  // namespace

void add_played_levers(FullForecast& f, const ControlQuestion& question) {
  if (!f.full_control) f.full_control.emplace();
  std::string why = why_none(f);
  if (why.empty()) {
    Result<LeverTable> table = play_levers(f, question);
    if (table) {
      f.full_control->played = *std::move(table);
      if (!overlaps_work(*f.scenario) && f.run.hidden && f.run.hidden->value > 0)
        f.full_control->notes.push_back(fmt::format(
            "backup-workers, local-steps, bounded-staleness: simulated without overlap; the Run hides {}{} "
            "of its background communication",
            f.run.hidden_at_most ? "at most " : "", percent(f.run.hidden->value)));
    } else {
      why = table.error().message;
    }
  }
  if (!why.empty())
    f.full_control->notes.push_back("backup-workers, local-steps, bounded-staleness: not simulated, " + why);
}

}  // namespace cox::forecast
