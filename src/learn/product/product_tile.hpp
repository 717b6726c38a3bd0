// SPDX-License-Identifier: Apache-2.0
/// \file
/// The inner loop of a matrix product, compiled once per instruction set.
#pragma once

#include <cstddef>

#include "cox/base/instruction_set.hpp"

namespace cox::learn {

/// c[r][j] = fma(a[p][r], b[p][j], c[r][j]) for p = 0, 1, ... k - 1: one chain per element, in this order.
struct ProductTile {
  std::size_t rows = 0;
  std::size_t columns = 0;
  /// a: k x rows, b: k x columns, both packed; c: rows x columns, `stride` from row to row.
  void (*run)(std::size_t k, const float* a, const float* b, float* c, std::size_t stride) = nullptr;
};

/// Without the processor's own fused multiply-add, the baseline.
[[nodiscard]] const ProductTile& product_tile(kernels::InstructionSet set);

}  // namespace cox::learn
