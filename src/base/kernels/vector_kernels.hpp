// SPDX-License-Identifier: Apache-2.0
/// \file
/// Elementwise arithmetic on arrays, compiled once per instruction set and chosen at run time.
///
/// Every variant makes the same operations (+ - * / sqrt, each rounded by IEEE 754; no fused multiply-add) on
/// each element, so the bits are the same on every processor. Held by: src/base/random_test.cpp,
/// src/base/elementary_test.cpp, which run all variants that the processor has.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cox/base/instruction_set.hpp"

namespace cox::kernels {

/// One variant. Arrays need no alignment; `n` may be zero.
struct VectorKernels {
  void (*uniforms)(std::uint64_t seed, std::uint32_t stream, std::uint64_t step, std::uint64_t first,
                   std::size_t n, double* out);
  void (*uniforms32)(std::uint64_t seed, std::uint32_t stream, std::uint64_t step, std::uint64_t first,
                     std::size_t n, double* out);
  void (*normals32)(std::uint64_t seed, std::uint32_t stream, std::uint64_t step, std::uint64_t first,
                    std::size_t n, double* out);
  void (*normal_quantiles)(std::size_t n, double* values);
  void (*normal_probabilities)(std::size_t n, double* values);
  void (*exponentials)(std::size_t n, double* values);
  void (*logarithms)(std::size_t n, double* values);
};

[[nodiscard]] const VectorKernels& vector_kernels(InstructionSet set);
/// The best that this processor has.
[[nodiscard]] const VectorKernels& vector_kernels();

}  // namespace cox::kernels
