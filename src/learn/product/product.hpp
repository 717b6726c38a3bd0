// SPDX-License-Identifier: Apache-2.0
/// \file
/// Matrix products whose bits depend on nothing but the numbers.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "learn/product/product_tile.hpp"

namespace cox::learn {

/// Element (i, j) lies at data[i row_stride + j column_stride].
struct Operand {
  const float* data = nullptr;
  std::size_t row_stride = 0;
  std::size_t column_stride = 1;
};
/// A matrix stored row by row, each of `columns`.
[[nodiscard]] inline Operand rows_of(const float* data, std::size_t columns) {
  return {data, columns, 1};
}
/// Its transpose.
[[nodiscard]] inline Operand columns_of(const float* data, std::size_t columns) {
  return {data, 1, columns};
}

/// Each element is one chain of fused multiply-adds in the order of k, begun at what C holds: no shape, batch, cache,
/// thread or instruction set changes a bit, rows computed alone are those of a batch, and a product may be continued.
/// Source: section 6 of the reference on learning (bitwise recipe, a).
/// Cost: 2 m n k operations; m is rounded up to the tile's rows and n to its columns. Speed: bench/product_bench.cpp.
/// Threads: one owner (it has working room). Held by: src/learn/product/product_test.cpp
class Product {
 public:
  Product() : Product(kernels::instruction_sets().front()) {}
  explicit Product(kernels::InstructionSet set) : tile_(product_tile(set)) {}

  /// C += A B: A is m x k, B is k x n, C is stored row by row, each of n.
  void add(std::size_t m, std::size_t n, std::size_t k, Operand a, Operand b, float* c);

  /// C = A B, where k is cut into `blocks` equal stretches: a chain from 0 of each, added in an aligned binary tree. A stretch of 2^i aligned blocks
  /// alone has the bits of its branch, so what holds half of them and adds the other's sum has the bits of all.
  /// Room: C once for each level of the tree. Pre: `blocks` is a power of two that divides k.
  void in_blocks(std::size_t m, std::size_t n, std::size_t k, std::size_t blocks, Operand a, Operand b,
                 float* c);
  /// The same tree over leaves of `size` floats that the caller makes: `leaf` adds number `at` to zeros.
  using Leaf = std::function<void(std::size_t at, float* to)>;
  void in_tree(std::size_t size, std::size_t blocks, const Leaf& leaf, float* c);

 private:
  void add_block(std::size_t m, std::size_t n, std::size_t k, Operand a, float* c, std::size_t stride);

  const ProductTile& tile_;
  std::vector<float> a_;     ///< one panel of rows
  std::vector<float> b_;     ///< all panels of columns of a block
  std::vector<float> edge_;  ///< a tile that C does not hold whole
  std::vector<float> sums_;  ///< of blocks
};

}  // namespace cox::learn
