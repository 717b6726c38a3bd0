// SPDX-License-Identifier: Apache-2.0
/// \file
/// Computations that learn: what a source says about stale, seldom, weighted and compressed gradients, by real ones.
#pragma once

#include "cox/study/computation.hpp"

namespace cox::evaluate {

/// `constant-delay`: updates of one age on a quadratic, with one rate for all delays and with the best rate of each; the
/// edge of stability by bisection on runs beside its closed form. Held by: src/evaluate/learning/staleness_test.cpp
[[nodiscard]] Result<study::Computation> compute_constant_delay(const study::Inputs& in,
                                                                const study::ComputeOptions& options);
/// `staleness-bound`: workers with drawn times whose updates are thrown away beyond a bound.
/// Held by: src/evaluate/learning/staleness_test.cpp
[[nodiscard]] Result<study::Computation> compute_staleness_bound(const study::Inputs& in,
                                                                 const study::ComputeOptions& options);
/// `consistency-models`: synchronous, bounded, asynchronous and local training to one target on clusters that differ in
/// their messages and in how alike their workers are. Held by: src/evaluate/learning/ways_test.cpp
[[nodiscard]] Result<study::Computation> compute_consistency_models(const study::Inputs& in,
                                                                    const study::ComputeOptions& options);
/// `age-weights`: steps that are smaller for older gradients, or none, under three laws of ages.
/// Held by: src/evaluate/learning/ways_test.cpp
[[nodiscard]] Result<study::Computation> compute_age_weights(const study::Inputs& in,
                                                             const study::ComputeOptions& options);
/// `local-steps`: numbers of local steps between meetings, for workers that differ in nothing, in curvatures, in optima, in
/// noise. Held by: src/evaluate/learning/ways_test.cpp
[[nodiscard]] Result<study::Computation> compute_local_steps(const study::Inputs& in,
                                                             const study::ComputeOptions& options);
/// `batch-scaling`: what a step gains by batch and rule of the rate, on least squares, whose law is known.
/// Held by: src/evaluate/learning/ways_test.cpp
[[nodiscard]] Result<study::Computation> compute_batch_scaling(const study::Inputs& in,
                                                               const study::ComputeOptions& options);
/// `learned-routing`: tokens to one or two of many experts with room for so many, by a router that learns with and without
/// an auxiliary loss. Held by: src/evaluate/learning/ways_test.cpp
[[nodiscard]] Result<study::Computation> compute_learned_routing(const study::Inputs& in,
                                                                 const study::ComputeOptions& options);
/// `stale-gradient`, `asynchronous-trace`, `three-consistency-models`: worked examples of a few updates on one curvature.
/// Held by: src/evaluate/learning/stale_examples_test.cpp
[[nodiscard]] Result<study::Computation> compute_stale_gradient(const study::Inputs& in,
                                                                const study::ComputeOptions& options);
[[nodiscard]] Result<study::Computation> compute_asynchronous_trace(const study::Inputs& in,
                                                                    const study::ComputeOptions& options);
[[nodiscard]] Result<study::Computation> compute_three_models(const study::Inputs& in,
                                                              const study::ComputeOptions& options);
[[nodiscard]] Result<study::Computation> compute_compressed_gradients(const study::Inputs& in,
                                                                      const study::ComputeOptions& options);
[[nodiscard]] Result<study::Computation> compute_half_precision(const study::Inputs& in,
                                                                const study::ComputeOptions& options);
[[nodiscard]] Result<study::Computation> compute_reproducibility(const study::Inputs& in,
                                                                 const study::ComputeOptions& options);
[[nodiscard]] Result<study::Computation> compute_least_bits(const study::Inputs& in,
                                                            const study::ComputeOptions& options);

}  // namespace cox::evaluate
