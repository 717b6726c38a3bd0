// SPDX-License-Identifier: Apache-2.0
/// \file
/// The forecast of a job that is stated by the terms of its step.
#pragma once

#include "cox/base/result.hpp"
#include "cox/forecast/stated_job.hpp"

#include "forecast/answer/forecast.hpp"
#include "forecast/control/control.hpp"

namespace cox::forecast {

/// Sizes in ranks, numbers those of `StatedJob::job`: step, rate, regimes with their mechanisms, goodput at the best interval,
/// margins by factors on each named term. Nothing is measured, so nothing has a band but goodput. Where the terms say what a rank's work varies by,
/// quantiles are those of the slowest rank's law about the mean of the terms (what messages draw, as time-outs, is its mean), and there are
/// parts, levers, structure and a Scenario, all of the job where it begins. A size that is no whole number of nodes, or below the first, is refused.
///
/// Errors:  forecast-013 (strong scaling: terms are those of ranks with as much to do at any size).
/// Cost:    that of `regimes_of` and `margins_of` on the terms. Held by: src/forecast/answer/stated_test.cpp,
///          src/evaluate/hyperscale_test.cpp (the study's numbers)
[[nodiscard]] Status add_stated(FullForecast& out, const StatedJob& stated, const Asked& question);

/// What failures leave, and how long a training takes: steps are the sum of the terms at any size. Pre: `add_stated` made a Scenario.
/// Errors: those of `make_control`. Held by: src/forecast/answer/stated_test.cpp
[[nodiscard]] Result<FullControl> control_of(const FullForecast& forecast, const StatedJob& stated,
                                             const ControlQuestion& question);

}  // namespace cox::forecast
