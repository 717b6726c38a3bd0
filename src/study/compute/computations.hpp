// SPDX-License-Identifier: Apache-2.0
/// \file
/// The computations of this room, each a question of a source; `computations.cpp` names them.
#pragma once

#include "cox/study/computation.hpp"

namespace cox::study {

/// Each is a `Compute`.
Result<Computation> compute_data_parallel_step(const Inputs& in, const ComputeOptions& options);
Result<Computation> compute_stragglers(const Inputs& in, const ComputeOptions& options);
Result<Computation> compute_all_reduce_crossover(const Inputs& in, const ComputeOptions& options);
Result<Computation> compute_pipeline(const Inputs& in, const ComputeOptions& options);
Result<Computation> compute_pipeline_bubble(const Inputs& in, const ComputeOptions& options);
Result<Computation> compute_load_balancing(const Inputs& in, const ComputeOptions& options);
Result<Computation> compute_bucketing(const Inputs& in, const ComputeOptions& options);
Result<Computation> compute_server_against_all_reduce(const Inputs& in, const ComputeOptions& options);
Result<Computation> compute_expert_routing(const Inputs& in, const ComputeOptions& options);
Result<Computation> compute_tensor_parallel(const Inputs& in, const ComputeOptions& options);
Result<Computation> compute_hierarchical_all_reduce(const Inputs& in, const ComputeOptions& options);
Result<Computation> compute_step_efficiency(const Inputs& in, const ComputeOptions& options);
Result<Computation> compute_gradient_aggregation(const Inputs& in, const ComputeOptions& options);
Result<Computation> compute_layer_split(const Inputs& in, const ComputeOptions& options);
Result<Computation> compute_pipeline_timeline(const Inputs& in, const ComputeOptions& options);
Result<Computation> compute_ring_pattern(const Inputs& in, const ComputeOptions& options);
Result<Computation> compute_single_server(const Inputs& in, const ComputeOptions& options);
Result<Computation> compute_shared_uplink(const Inputs& in, const ComputeOptions& options);
Result<Computation> compute_scaling_case(const Inputs& in, const ComputeOptions& options);
Result<Computation> compute_pacing_table(const Inputs& in, const ComputeOptions& options);

}  // namespace cox::study
