// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a page draws of a job's structure where nothing was recorded, or nothing that goes on behind a delay.
#pragma once

#include "forecast/answer/forecast.hpp"

namespace cox::forecast {

/// Fills `drawn`. Of a Scenario that was given: steps simulated and read as those of a Run, up to 512 ranks, without failures and what
/// happens once; and a delay beside its twin. Of a calibrated one that reproduces its Run: the delay alone, since the Run itself
/// tells the rest. `sample`: the Run, which says what is left of the delay; null = the Scenario's steps do. Errors: none; what cannot be drawn is said in `why_not`.
/// Cost: a simulation of 48 to 256 steps that is recorded and read, 32 to 128 of 40 steps. Threads: same result for any number.
/// Held by: src/forecast/answer/drawn_structure_test.cpp
void add_drawn(FullForecast& forecast, const Sample* sample, const Asked& question);

/// A scenario with one rank, in the middle of the job, that is late by `delay` in the tenth of forty steps, beside its twin; without
/// failures, starts and what else happens once. Errors: those of `simulate::follow_delay`.
[[nodiscard]] Result<SimulatedDelay> delay_beside_twin(const model::Scenario& scenario, Seconds delay,
                                                       int threads);

}  // namespace cox::forecast
