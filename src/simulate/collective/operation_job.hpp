// SPDX-License-Identifier: Apache-2.0
/// \file
/// Recorded operation graphs on a scenario's cluster: the workload of `job.workload = "chakra"`.
#pragma once

#include "cox/base/result.hpp"
#include "cox/model/scenario.hpp"
#include "cox/simulate/outcome.hpp"

namespace cox::simulate {

/// Imports the job's file (a file, or a folder of one file per rank) and replays its operations; collectives
/// go through the max-plus engine, or the flow engine where the scenario's fabric shares links; there
/// messages cross the network, too, each as if alone. Errors: those of `trace::import_path`,
/// `replay_operations` and the engines; simulate-006 (flow engine: a rank that has no place on the cluster).
/// Held by: src/simulate/collective/operation_job_test.cpp
[[nodiscard]] Result<Outcome> simulate_operations(const model::Scenario& scenario, model::EngineKind engine,
                                                  const SimulateOptions& options);

}  // namespace cox::simulate
