// SPDX-License-Identifier: Apache-2.0
/// \file
/// What failures leave of each size of a forecast.
#pragma once

#include <optional>

#include "cox/model/scenario.hpp"

#include "forecast/answer/forecast.hpp"
#include "forecast/regimes/failing.hpp"

namespace cox::forecast {

/// Whose failures a forecast has: those that a study states, of a scenario that was given, else those of the question on the nodes that were seen, with the start
/// that was. Nothing where nothing fails.
[[nodiscard]] std::optional<model::Scenario> failing_scenario(const FullForecast& forecast,
                                                              const Asked& question);

/// The start as it was fitted; of one size all of it is taken not to grow.
[[nodiscard]] model::Startup start_of(const RunParameters& run);

/// Puts what stops the job, and the start, into a calibrated Scenario, as training steps: of the question, else failures that were seen. Where
/// neither is there it stays as it is. Held by: src/forecast/answer/node_hours_test.cpp
void add_interruptions(FullForecast& forecast, const Asked& question);

/// Fills `goodput` and `at_seen`, with bands and notes. Pre: `projection` and `seen` are there.
/// Held by: src/forecast/answer/node_hours_test.cpp
void add_goodput(FullForecast& forecast, const Failing& failing, const Prior& prior = {});

}  // namespace cox::forecast
