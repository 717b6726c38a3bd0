// SPDX-License-Identifier: Apache-2.0
/// \file
/// Loops over floats of compressors, compiled once per instruction set. The same operations in the same order on each
/// element, so the bits are the same on every processor. Arrays need no alignment; `n` may be zero.
/// Held by: src/learn/compress/compress_kernels_test.cpp (all variants against each other)
#pragma once

#include <cstddef>
#include <cstdint>

#include "cox/base/instruction_set.hpp"

namespace cox::learn {

// Not its header: no inline function may be compiled per instruction set.
enum class NumberFormat : std::uint8_t;

struct CompressKernels {
  /// Bits of the largest |x|; of a NaN where there is one. 0 of none.
  std::uint32_t (*largest)(std::size_t n, const float* x);
  /// Sums in 16 lanes of doubles, element i in lane i mod 16, lanes added pairwise.
  double (*sum_of_sizes)(std::size_t n, const float* x);
  double (*sum_of_squares)(std::size_t n, const float* x);
  /// codes[i] = floor(x[i] * inverse + u), u = draw of `key` and place `first` + i, cut to [-levels, levels]; NaN to
  /// -levels. u = (top 16 bits of the hash) 2^-16.
  void (*quantise)(std::size_t n, const float* x, float inverse, int levels, std::uint64_t key,
                   std::uint32_t first, std::int8_t* codes);
  /// out[i] = codes[i] * unit.
  void (*dequantise)(std::size_t n, const std::int8_t* codes, float unit, float* out);
  /// Bit i mod 8 of byte i / 8: whether x[i] carries a minus. Bits beyond n are 0.
  void (*pack_signs)(std::size_t n, const float* x, std::uint8_t* packed);
  void (*unpack_signs)(std::size_t n, const std::uint8_t* packed, float scale, float* out);
  /// Places with |x| of at least `bound` (as bits), in order, and how many. `places` has room for n + 16.
  std::size_t (*at_least)(std::size_t n, const float* x, std::uint32_t bound, std::uint32_t* places);
  /// FP32 to a format's codes and back, as `encode` and `decode` of number_format.hpp. Codes are `size_of(format)` long.
  void (*to_codes)(NumberFormat format, std::size_t n, const float* x, void* codes);
  void (*from_codes)(NumberFormat format, std::size_t n, const void* codes, float* x);
};

[[nodiscard]] const CompressKernels& compress_kernels(kernels::InstructionSet set);
[[nodiscard]] const CompressKernels& compress_kernels();

}  // namespace cox::learn
