// SPDX-License-Identifier: Apache-2.0
/// \file
/// Scenarios of `job.workload = "iteration"`: paced jobs, beside the same draws without pacing.
#pragma once

#include "cox/base/result.hpp"
#include "cox/model/scenario.hpp"
#include "cox/simulate/outcome.hpp"

namespace cox::simulate {

/// `scenario.job.steps` steps of the job's iteration on the cluster's ranks and nodes, under the controller
/// that the job's `pace` sets, for the seeds `seed`, `seed` + 1, ...; where the mode is not `off`, the first
/// seed again without it. Errors: simulate-003 (another engine; a Run of too many records), simulate-007.
/// Threads: replicas over `options.threads`; the same bytes for any number.
/// Held by: src/simulate/paced/job_test.cpp
[[nodiscard]] Result<Outcome> simulate_iterations(const model::Scenario& scenario,
                                                  const SimulateOptions& options);

}  // namespace cox::simulate
