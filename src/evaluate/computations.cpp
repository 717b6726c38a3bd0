// SPDX-License-Identifier: Apache-2.0
#include "cox/evaluate/computations.hpp"

#include <array>

#include "evaluate/hyperscale.hpp"
#include "evaluate/learning/computations.hpp"
#include "evaluate/worked_plans.hpp"

namespace cox::evaluate {

study::ComputationTable computations() {
  study::ComputationTable table;
  table.add(study::engine_computations());
  static constexpr auto kOwn = std::to_array<study::NamedComputation>({
      {"hyperscale-regimes", compute_hyperscale},
      {"constant-delay", compute_constant_delay},
      {"staleness-bound", compute_staleness_bound},
      {"consistency-models", compute_consistency_models},
      {"age-weights", compute_age_weights},
      {"local-steps", compute_local_steps},
      {"batch-scaling", compute_batch_scaling},
      {"learned-routing", compute_learned_routing},
      {"compressed-gradients", compute_compressed_gradients},
      {"half-precision", compute_half_precision},
      {"reproducibility", compute_reproducibility},
      {"least-bits", compute_least_bits},
      {"stale-gradient", compute_stale_gradient},
      {"asynchronous-trace", compute_asynchronous_trace},
      {"three-consistency-models", compute_three_models},
      {"checkpoint-plan", compute_checkpoint_plan},
      {"hybrid-plan", compute_hybrid_plan},
  });
  table.add(kOwn);
  return table;
}

}  // namespace cox::evaluate
