// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where throughput is highest, held against sizes that a job can have and those that were simulated.
#pragma once

#include "cox/model/scenario.hpp"

#include "forecast/answer/forecast.hpp"

namespace cox::forecast {

/// The size of most throughput, and between which it lies, are sizes that the job can have: whole units, and a batch that is shared out.
/// Looked at: those within a factor of two; where there is none, it stays.
/// Held by: src/forecast/answer/held_peak_test.cpp
void hold_peak(FullForecast& out, const model::Scenario& scenario);

/// Weak scaling in which nothing fails, by the sizes that were simulated, those asked too: no size is in collapse where a larger one does as
/// much, to one per cent, or where its band holds what all smaller ones do; N* is none that a simulated size surpasses by more than its
/// interval and one per cent: that one, where those beside it do less, and else beyond it. Held by: src/forecast/answer/held_peak_test.cpp
void hold_simulated(FullForecast& out);

}  // namespace cox::forecast
