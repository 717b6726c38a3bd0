// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a rank keeps in a step, and what it sends, by formula.
#pragma once

#include <span>

#include "cox/base/units.hpp"
#include "cox/learn/optimizer.hpp"
#include "cox/learn/problem.hpp"

#include "train/executor/memory_count.hpp"
#include "train/run/job.hpp"

namespace cox::train {

/// Bytes that a rank keeps at its most, in float32. With P elements of which it keeps K, moments m, units u:
///   data-parallel  parameters 4 P, gradients 4 P, optimizer 4 m P, received 4 (stretches of others) K
///   zero-1         optimizer 4 m K
///   zero-2         gradients 4 K, and those of the unit that is worked with
///   zero-3         parameters 4 K, and those of the unit that is worked with and of the next
/// and what waits of leaves before the last: 4 (aligned stretches of them) P, less the units that are reduced already. lamb keeps its
/// direction beside its moments. Rounds of local steps: 4 P more for parameters, and the inner optimizers of the rank's workers beside
/// the outer one; steps before the first: an optimizer of theirs; SCAFFOLD: 4 P a worker, 8 P, and all sums twice. Where checkpoints are written beside the steps, a copy of what the rank saves: 4 (1 + m) K, and what its workers keep. Units are in whole pages (padding); where a shard takes several passes, gradients of all units are
/// open. Not in it: samples, activations, scores (the first rank has all parameters then), messages of the norms.
/// Mixed precision: planned_mixed_memory. Source: Rajbhandari et al. 2020, for the terms of K and P. Held by: src/train/run/replica_test.cpp
[[nodiscard]] BytesByUse planned_memory(const TrainJob& job, TrainLayout layout,
                                        const learn::Problem& problem, const learn::OptimizerSpec& optimizer,
                                        int rank);
[[nodiscard]] Bytes sum_of(std::span<const Bytes> some);

/// Bytes that a rank sends in a step by its layout, gradients summed in fixed order:
///   data-parallel, zero-1, zero-2  reduce_bytes + gather_bytes
///   zero-3                         reduce_bytes, and 4 (ranks - 1) (own part) for each unit and time that it is needed: in each pass of
///                                  each leaf of the rank with most, forth, and back all but the first and the last
/// SCAFFOLD: twice. zero-1 to -3 also what is said about gradients that are no numbers, and the norms that the optimizer takes.
/// Mixed precision: planned_mixed_bytes.
[[nodiscard]] Bytes planned_bytes(const TrainJob& job, TrainLayout layout, const learn::Problem& problem,
                                  const learn::OptimizerSpec& optimizer, int rank);

}  // namespace cox::train
