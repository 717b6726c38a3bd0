// SPDX-License-Identifier: Apache-2.0
/// \file
/// A job of collectives, one after another with work in between: the workload
/// of `job.workload = "collective"`.
#pragma once

#include "cox/base/result.hpp"
#include "cox/model/scenario.hpp"
#include "cox/simulate/outcome.hpp"

namespace cox::simulate {

/// The same errors as `simulate`. Every replica has its own seed: `scenario.seed` + number of the replica.
[[nodiscard]] Result<Outcome> simulate_collectives(const model::Scenario& scenario, model::EngineKind engine,
                                                   const SimulateOptions& options);

}  // namespace cox::simulate
