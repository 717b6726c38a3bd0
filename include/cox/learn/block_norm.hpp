// SPDX-License-Identifier: Apache-2.0
/// \file
/// Norms whose bits do not depend on how the values are split.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace cox::learn {

/// Values in one block of a norm. Who holds a whole block computes its sum alone.
inline constexpr std::size_t kNormBlock = 1024;

/// Sum of squares of a block's values: eight chains in double. Pre: at most kNormBlock values.
[[nodiscard]] double block_sum(std::span<const float> block);
/// Root of the sum over blocks, in their order: a binary tree, neighbours first. Takes the room.
[[nodiscard]] double norm_of_blocks(std::vector<double> sums);
/// Euclidean norm: both, over blocks of kNormBlock. Cost: one pass. Held by: src/learn/optimize/block_norm_test.cpp
[[nodiscard]] double block_norm(std::span<const float> values);

}  // namespace cox::learn
