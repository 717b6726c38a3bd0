// SPDX-License-Identifier: Apache-2.0
#include "learn/product/product.hpp"

#include <algorithm>
#include <bit>

#include "cox/base/assert.hpp"

namespace cox::learn {
namespace {

// A block of B is half a MiB: it stays in the second cache. Only speed depends on it.
constexpr std::size_t kDepth = 256;
constexpr std::size_t kWidth = 512;

/// to[p][r] = element (r, p) of `from`, 0 from `rows` on.
void pack(std::size_t rows, std::size_t k, std::size_t width, Operand from, float* to) {
  if (from.row_stride == 1) {  // neighbours lie side by side
    for (std::size_t p = 0; p < k; ++p, to += width) {
      const float* line = from.data + p * from.column_stride;
      std::copy(line, line + rows, to);
      std::fill(to + rows, to + width, 0.0F);
    }
    return;
  }
  for (std::size_t r = 0; r < width; ++r) {
    const float* line = from.data + r * from.row_stride;
    for (std::size_t p = 0; p < k; ++p) to[p * width + r] = r < rows ? line[p * from.column_stride] : 0.0F;
  }
}

Operand moved(Operand o, std::size_t row, std::size_t column) {
  o.data += row * o.row_stride + column * o.column_stride;
  return o;
}

Operand transposed(Operand o) {
  std::swap(o.row_stride, o.column_stride);
  return o;
}

}  // namespace

void Product::add(std::size_t m, std::size_t n, std::size_t k, Operand a, Operand b, float* c) {
  const std::size_t width = tile_.columns;
  a_.resize(tile_.rows * kDepth);
  b_.resize(kDepth * (kWidth + width));
  edge_.resize(tile_.rows * width);
  for (std::size_t column = 0; column < n; column += kWidth) {
    const std::size_t columns = std::min(kWidth, n - column);
    for (std::size_t at = 0; at < k; at += kDepth) {
      const std::size_t depth = std::min(kDepth, k - at);
      for (std::size_t j = 0; j < columns; j += width)
        pack(std::min(width, columns - j), depth, width, transposed(moved(b, at, column + j)),
             b_.data() + j * depth);
      add_block(m, columns, depth, moved(a, 0, at), c + column, n);
    }
  }
}

void Product::in_blocks(std::size_t m, std::size_t n, std::size_t k, std::size_t blocks, Operand a, Operand b,
                        float* c) {
  const std::size_t depth = k / blocks;
  COX_ASSERT(k % blocks == 0, "blocks are equal");
  in_tree(
      m * n, blocks,
      [&](std::size_t at, float* to) {
        add(m, n, depth, moved(a, 0, at * depth), moved(b, at * depth, 0), to);
      },
      c);
}

void Product::in_tree(std::size_t size, std::size_t blocks, const Leaf& leaf, float* c) {
  COX_ASSERT(std::has_single_bit(blocks), "blocks are a power of two");
  sums_.resize(size * static_cast<std::size_t>(std::bit_width(blocks)));
  for (std::size_t at = 0; at < blocks; ++at) {
    // Branches that wait lie one behind the other, one for each bit of `at`.
    const auto waiting = static_cast<std::size_t>(std::popcount(at));
    float* next = blocks == 1 ? c : sums_.data() + size * waiting;
    std::fill(next, next + size, 0.0F);
    leaf(at, next);
    for (std::size_t level = at; level % 2 == 1; level /= 2) {
      float* left = next - size;
      for (std::size_t i = 0; i < size; ++i) left[i] += next[i];
      next = left;
    }
  }
  if (blocks > 1) std::copy(sums_.begin(), sums_.begin() + static_cast<std::ptrdiff_t>(size), c);
}

void Product::add_block(std::size_t m, std::size_t n, std::size_t k, Operand a, float* c,
                        std::size_t stride) {
  const std::size_t width = tile_.columns;
  for (std::size_t i = 0; i < m; i += tile_.rows) {
    const std::size_t rows = std::min(tile_.rows, m - i);
    pack(rows, k, tile_.rows, moved(a, i, 0), a_.data());
    for (std::size_t j = 0; j < n; j += width) {
      const float* panel = b_.data() + j * k;
      float* corner = c + i * stride + j;
      const std::size_t columns = std::min(width, n - j);
      if (rows == tile_.rows && columns == width) {
        tile_.run(k, a_.data(), panel, corner, stride);
        continue;
      }
      std::ranges::fill(edge_, 0.0F);
      for (std::size_t r = 0; r < rows; ++r)
        std::copy(corner + r * stride, corner + r * stride + columns, edge_.data() + r * width);
      tile_.run(k, a_.data(), panel, edge_.data(), width);
      for (std::size_t r = 0; r < rows; ++r)
        std::copy(edge_.data() + r * width, edge_.data() + r * width + columns, corner + r * stride);
    }
  }
}

}  // namespace cox::learn
