// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a step needs of each shard, by the keys of its samples.
#pragma once

#include "cox/base/result.hpp"
#include "cox/learn/learner.hpp"
#include "cox/learn/problem.hpp"

#include "learn/drive/drive.hpp"

namespace cox::learn {

/// Of the steps of `workers` workers that each take `share`: the values that the gradient touches, and 4 bytes for each range of them that
/// is not the whole shard, over the shard's values. `problem` outlives it.
/// Errors: learn-002 where every step needs all parameters. Cost: the draws of a step's samples.
/// Held by: src/learn/answer/sparse_needs_test.cpp
[[nodiscard]] Result<StepNeeds> needs_of(const Problem& problem, const StepShare& share, int workers,
                                         int shards);

}  // namespace cox::learn
