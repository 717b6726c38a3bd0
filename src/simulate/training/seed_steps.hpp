// SPDX-License-Identifier: Apache-2.0
/// \file
/// Steps of a training job that are played once for several kinds of failures.
#pragma once

#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/model/scenario.hpp"
#include "cox/simulate/outcome.hpp"

namespace cox::simulate {

/// As Outcome::seed_steps. Errors and cost: as simulate_training, without an account of the time.
[[nodiscard]] Result<SeedSteps> play_seeds(const model::Scenario& scenario, const SimulateOptions& options);
/// `Outcome::totals` of a job that has these steps: what simulate_training says, though another start and other failures were in
/// the scenario that was played. Held by: src/simulate/attribution/attribution_test.cpp
[[nodiscard]] Result<std::vector<Seconds>> seed_totals(const model::Scenario& scenario,
                                                       const SeedSteps& steps);

}  // namespace cox::simulate
