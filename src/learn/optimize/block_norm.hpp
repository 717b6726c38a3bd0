// SPDX-License-Identifier: Apache-2.0
/// \file
/// Norms whose bits do not depend on how the values are split.
#pragma once

#include <cstddef>
#include <span>

namespace cox::learn {

/// Values in one block of a norm. A rank that holds whole blocks computes their sums alone.
inline constexpr std::size_t kNormBlock = 1024;

/// Euclidean norm: sums of squares over blocks of kNormBlock in double, then a binary tree over the blocks (neighbours
/// first). Cost: one pass. Held by: src/learn/optimize/block_norm_test.cpp
[[nodiscard]] double block_norm(std::span<const float> values);

}  // namespace cox::learn
