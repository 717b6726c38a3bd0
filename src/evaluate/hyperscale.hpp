// SPDX-License-Identifier: Apache-2.0
/// \file
/// A hyperscale synchronous job in closed form: four regimes, the mechanism of each transition, and control.
#pragma once

#include "cox/study/computation.hpp"

namespace cox::evaluate {

/// Computation `hyperscale-regimes`. A step is work + exposed communication of the shards + what waits for the slowest of all
/// devices (exponential) + oversubscription between pods + time-outs in the rounds of a ring; failures take the whole job down.
/// Sizes are nodes; weak scaling. Held by: src/evaluate/hyperscale_test.cpp
[[nodiscard]] Result<study::Computation> compute_hyperscale(const study::Inputs& in,
                                                            const study::ComputeOptions& options);

}  // namespace cox::evaluate
