// SPDX-License-Identifier: Apache-2.0
/// \file
/// A scenario with levers, by its parts: how far it is from the next boundary, and what it does at other sizes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cox/model/scenario.hpp"

#include "forecast/control/control.hpp"
#include "forecast/levers/levers.hpp"
#include "forecast/project/project.hpp"

namespace cox::forecast {

/// Fills `margin`, and its ends over 20 draws, of the job as it is and of each lever, at the scenario's size, from the parts that the changed scenario says
/// (`parts_of`); left empty where it says none, as under a policy that does not meet in every step. To the boundary that is next for the
/// job as it is. `over_parts`: of the job as it is, and so of all. Cost: a few simulated steps and 300 to 1,100 quadratures a lever. Held by: src/forecast/control/control_test.cpp
void add_margins(const model::Scenario& scenario, int threads, const OverPartsAt& over_parts,
                 LeverTable& table);

/// Throughput with these levers over that without, failures included, at each size; empty where either says no parts.
/// Cost: a simulated step a size. Held by: src/forecast/control/control_test.cpp
[[nodiscard]] std::vector<ControlledSize> controlled_sizes(const model::Scenario& scenario,
                                                           const std::vector<std::string>& levers,
                                                           const std::vector<std::int64_t>& ranks);

}  // namespace cox::forecast
