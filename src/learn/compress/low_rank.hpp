// SPDX-License-Identifier: Apache-2.0
/// \file
/// A matrix as a product of two narrow ones: one step of power iteration from the factor of the step before.
/// Source: Vogels, Karimireddy, Jaggi 2019, "PowerSGD".
#pragma once

#include <cstddef>
#include <span>

namespace cox::learn {

struct MatrixShape {
  std::size_t rows = 1;
  std::size_t columns = 1;
};

/// p = M q, its columns made orthonormal; q = M' p. M is row by row; p (rows) and q (columns) are column by column.
/// Columns of p that depend on others become zero, and so do those of q. Dot products in double, in order.
/// Cost: O(rank rows columns). Held by: src/learn/compress/low_rank_test.cpp
void low_rank(std::span<const float> matrix, MatrixShape shape, std::size_t rank, std::span<float> p,
              std::span<float> q);

/// out = p q'.
void multiply(std::span<const float> p, std::span<const float> q, MatrixShape shape, std::size_t rank,
              std::span<float> out);

}  // namespace cox::learn
