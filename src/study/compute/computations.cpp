// SPDX-License-Identifier: Apache-2.0
#include "study/compute/computations.hpp"

#include <array>

namespace cox::study {
namespace {

constexpr std::array kComputations = {
    NamedComputation{"data-parallel-step", compute_data_parallel_step},
    NamedComputation{"stragglers", compute_stragglers},
    NamedComputation{"allreduce-crossover", compute_all_reduce_crossover},
    NamedComputation{"pipeline", compute_pipeline},
    NamedComputation{"pipeline-bubble", compute_pipeline_bubble},
    NamedComputation{"load-balancing", compute_load_balancing},
    NamedComputation{"bucketing-overlap", compute_bucketing},
    NamedComputation{"server-against-allreduce", compute_server_against_all_reduce},
    NamedComputation{"expert-routing", compute_expert_routing},
    NamedComputation{"tensor-parallel", compute_tensor_parallel},
    NamedComputation{"hierarchical-allreduce", compute_hierarchical_all_reduce},
    NamedComputation{"step-efficiency", compute_step_efficiency},
    NamedComputation{"gradient-aggregation", compute_gradient_aggregation},
    NamedComputation{"layer-split", compute_layer_split},
    NamedComputation{"pipeline-timeline", compute_pipeline_timeline},
    NamedComputation{"ring-pattern", compute_ring_pattern},
    NamedComputation{"single-server", compute_single_server},
    NamedComputation{"shared-uplink", compute_shared_uplink},
    NamedComputation{"scaling-case", compute_scaling_case},
    NamedComputation{"pacing-table", compute_pacing_table},
};

}  // namespace

std::span<const NamedComputation> engine_computations() {
  return kComputations;
}

}  // namespace cox::study
