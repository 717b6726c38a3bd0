// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a rank keeps in a step of mixed precision, and what it sends, by formula.
#pragma once

#include "cox/base/units.hpp"
#include "cox/learn/optimizer.hpp"
#include "cox/learn/problem.hpp"

#include "train/executor/memory_count.hpp"
#include "train/run/job.hpp"

namespace cox::train {

/// Bytes that a rank keeps at its most. With P elements of which it keeps K, moments m, the unit that is worked with L:
///   data-parallel  parameters 2 P, gradients 2 P, master copy 4 P, optimizer 4 m P, received 2 (stretches of others) K
///   zero-1         master copy 4 K, optimizer 4 m K
///   zero-2         gradients 2 K, and 2 L of the unit's codes
///   zero-3         parameters 2 K, and 2 of the unit that is gathered
/// and what waits of leaves before the last: 2 (aligned stretches of them) P, less the units that are reduced already. Arithmetic is FP32, so a unit that is worked
/// with takes 4 L for its parameters and 4 L for its gradient more, in whole pages; where a shard takes several passes, gradients of all units do. clip, lars and lamb take all
/// gradients of the optimizer's elements at once: 4 K (data-parallel: 4 P) while it steps. Copies as planned_memory has them.
/// Source: Rajbhandari et al. 2020: 2 + 2 + K bytes, K = 12 for Adam. Held by: src/train/run/mixed_test.cpp
[[nodiscard]] BytesByUse planned_mixed_memory(const TrainJob& job, TrainLayout layout,
                                              const learn::Problem& problem,
                                              const learn::OptimizerSpec& optimizer, int rank);

/// Bytes that a rank sends in a step: half of what planned_bytes says of sums and gathers, and to each other rank 16 about gradients that are no
/// numbers; under ZeRO 1 about an overflow, where there is a loss scale, and the norms that the optimizer takes. A step that is skipped
/// has no norms, and under zero-1 and zero-2 no gather.
[[nodiscard]] Bytes planned_mixed_bytes(const TrainJob& job, TrainLayout layout,
                                        const learn::Problem& problem, const learn::OptimizerSpec& optimizer,
                                        int rank, bool skipped);

}  // namespace cox::train
