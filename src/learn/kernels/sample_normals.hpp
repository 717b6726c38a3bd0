// SPDX-License-Identifier: Apache-2.0
/// \file
/// Standard normal draws of a sample, in single precision and quickly: a step of a small problem is mostly these.
#pragma once

#include <cstdint>
#include <span>

#include "cox/base/instruction_set.hpp"

namespace cox::learn {

/// One variant per instruction set; all make the same bits. `key`: three words. sums[i] += draw i.
using AddNormals = void (*)(const std::uint32_t* key, std::size_t n, float* sums);
[[nodiscard]] AddNormals add_normals(kernels::InstructionSet set);

/// Draw i of a sample is a pure function of (seed, stream, sample, i). A sample's key is a block of Philox4x32-10
/// (cox/base/random.hpp) with counter (sample, stream), and word i is a mix of i with the key, three rounds of multiply
/// and shift with the constants of `triple32` (Wellons 2018, "Prospecting for hash functions"). Draws i and i + 16 of
/// each 32 come from words i and i + 16 (Box and Muller 1958). None is beyond 6.77. For noise and features, not for what
/// secrets or rare events depend on. Why not RandomStream::normals32: it takes half as long again.
/// Cost: under a nanosecond per draw, and a block of Philox per sample. Threads: const, no state.
/// Held by: src/learn/kernels/sample_normals_test.cpp (moments, quantiles, correlations, all instruction sets)
class SampleNormals {
 public:
  SampleNormals(std::int64_t seed, std::uint32_t stream)
      : seed_(static_cast<std::uint64_t>(seed)),
        stream_(stream),
        add_(add_normals(kernels::instruction_sets().front())) {}
  /// sums[i] += draw i of the sample.
  void add(std::int64_t sample, std::span<float> sums) const;
  /// out[i] = draw i of the sample.
  void draw(std::int64_t sample, std::span<float> out) const;

 private:
  std::uint64_t seed_;
  std::uint32_t stream_;
  AddNormals add_;
};

}  // namespace cox::learn
