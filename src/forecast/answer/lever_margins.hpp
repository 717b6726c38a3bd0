// SPDX-License-Identifier: Apache-2.0
/// \file
/// How far a scenario with each lever is from the next boundary.
#pragma once

#include "cox/forecast/levers.hpp"
#include "cox/model/scenario.hpp"

namespace cox::forecast {

/// Fills `margin` of the job as it is and of each lever, at the scenario's size, from the parts that the changed scenario says
/// (`parts_of`); left empty where it says none, as under a policy that does not meet in every step. To the boundary that is next for the
/// job as it is. Cost: a few simulated steps and 300 quadratures a lever. Held by: src/forecast/answer/control_test.cpp
void add_margins(const model::Scenario& scenario, int threads, LeverTable& table);

}  // namespace cox::forecast
