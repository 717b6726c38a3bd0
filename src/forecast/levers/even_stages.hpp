// SPDX-License-Identifier: Apache-2.0
/// \file
/// The lever `even-stages`: ranks of all stages, or roles, have as much to do as each other.
#pragma once

#include <optional>
#include <vector>

#include "cox/model/scenario.hpp"

#include "forecast/levers/by_parts.hpp"
#include "forecast/levers/levers.hpp"

namespace cox::forecast {

/// By parts, where a step's own work is of several roles (stages, places of a tensor group); else nothing is added. Each role's own work becomes
/// the mean over roles, weighted by ranks; what it varies by stays. A range up to that: what stages wait for each other inside a
/// step is not recorded, and does not go away. Not where no role's work is outside of twice its interval about the mean.
/// Held by: src/forecast/levers/even_stages_test.cpp
void add_even_stages(const PartsCase& job, std::vector<PartLever>& out);

/// Of training with several stages; else nothing. Layers of a stage take so many times as long that all stages take the same for a
/// micro-batch, forward and backward; their sum is kept, and bytes are as they are. Held by: src/forecast/levers/even_stages_test.cpp
[[nodiscard]] std::optional<Lever> even_stages(const model::Scenario& scenario);

}  // namespace cox::forecast
