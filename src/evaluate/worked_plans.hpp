// SPDX-License-Identifier: Apache-2.0
/// \file
/// Worked examples of plans: checkpoints of a long job, degrees of parallelism of a large model.
#pragma once

#include "cox/study/computation.hpp"

namespace cox::evaluate {

/// Computation `checkpoint-plan`: failures of exponential times, blocking checkpoints at even intervals of work, no time to restart.
/// Closed forms beside jobs that are drawn. Held by: src/evaluate/worked_plans_test.cpp
[[nodiscard]] Result<study::Computation> compute_checkpoint_plan(const study::Inputs& in,
                                                                 const study::ComputeOptions& options);
/// Computation `hybrid-plan`: memory, pipeline and all-reduce of a model split by tensor, pipeline and data.
/// Held by: src/evaluate/worked_plans_test.cpp
[[nodiscard]] Result<study::Computation> compute_hybrid_plan(const study::Inputs& in,
                                                             const study::ComputeOptions& options);

}  // namespace cox::evaluate
