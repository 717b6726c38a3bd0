// SPDX-License-Identifier: Apache-2.0
/// \file
/// Loops over all parameters that a step of a small problem spends its time in, compiled once per instruction set.
#pragma once

#include <cstddef>

#include "cox/base/instruction_set.hpp"

namespace cox::learn {

/// All variants make the same bits: each element by the operations that are written, sums in eight lanes.
/// Held by: src/learn/kernels/step_kernels_test.cpp
struct StepKernels {
  /// g = s c (y - b); half the sum of g (y - b), in double. Lane i has elements i, i + 8, ...; the last n mod 8 are in lane 0.
  double (*slopes)(std::size_t n, const float* y, const float* b, const float* c, float s,
                   float* g) = nullptr;
  /// g += factor z
  void (*add_scaled)(std::size_t n, float factor, const float* z, float* g) = nullptr;
  /// x -= rate (scale g + decay x)
  void (*descend)(std::size_t n, float rate, float scale, float decay, const float* g, float* x) = nullptr;
  /// Whether none is infinite or no number.
  bool (*all_finite)(std::size_t n, const float* x) = nullptr;
};
[[nodiscard]] const StepKernels& step_kernels(kernels::InstructionSet set);
/// Of this processor.
[[nodiscard]] const StepKernels& step_kernels();

}  // namespace cox::learn
