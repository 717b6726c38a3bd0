// SPDX-License-Identifier: Apache-2.0
/// \file
/// An Outcome for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "cox/model/scenario.hpp"
#include "cox/simulate/attribution.hpp"
#include "cox/simulate/delay.hpp"
#include "cox/simulate/event.hpp"
#include "cox/simulate/outcome.hpp"
#include "cox/simulate/training.hpp"

namespace cox::simulate {

/// Lines of text: what was simulated by which engine, how long it takes, what of that is exposed (where a step was
/// taken apart), what carried most, what was switched on and what is not modelled. No trailing newline.
/// Held by: tests/golden/simulate.golden
[[nodiscard]] std::vector<std::string> text_lines(const model::Scenario& scenario, const Outcome& outcome,
                                                  const StepAnalysis* step = nullptr);

/// Two scenarios on common draws.
[[nodiscard]] std::vector<std::string> text_lines(const std::string& a, const std::string& b,
                                                  const PairedTotals& comparison);
/// A schedule: until when each rank is busy.
[[nodiscard]] std::vector<std::string> text_lines(const std::string& file, const EventOutcome& outcome);

/// The step that is taken apart: the middle one.
[[nodiscard]] constexpr std::int64_t middle_step(const model::Scenario& s) {
  return s.job.steps / 2;
}
/// What the time of step `number` goes into.
[[nodiscard]] std::vector<std::string> text_lines(const StepAnalysis& step, std::int64_t number);
/// What each mechanism costs; `steps` of the scenario.
[[nodiscard]] std::vector<std::string> text_lines(const Attribution& attribution, int steps);
/// What is kept of a delay, in the first steps after it, then in fewer and fewer, and in the last.
[[nodiscard]] std::vector<std::string> text_lines(const KeptDelay& kept);
/// Time and efficiency against size: the smallest size's step over that size's; what each mechanism costs there.
[[nodiscard]] std::vector<std::string> text_lines(const std::vector<SizeOutcome>& sizes);

/// The whole JSON document `cox.simulate/1` (docs/reference/simulate-json.md).
/// Times in seconds, rounded to picoseconds.
[[nodiscard]] std::string to_json(const std::string& input, const model::Scenario& scenario,
                                  const Outcome& outcome, const std::vector<SizeOutcome>& sizes = {},
                                  const StepAnalysis* step = nullptr,
                                  const Attribution* attribution = nullptr, const KeptDelay* delay = nullptr);
/// `cox.simulate-comparison/1`.
[[nodiscard]] std::string to_json(const std::vector<std::string>& inputs, const PairedTotals& comparison);
/// `cox.simulate-schedule/1`.
[[nodiscard]] std::string to_json(const std::string& file, const EventOutcome& outcome);

}  // namespace cox::simulate
