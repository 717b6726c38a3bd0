// SPDX-License-Identifier: Apache-2.0
/// \file
/// A layer of weights and biases, forth and back.
#pragma once

#include <cstddef>

#include "learn/product/product.hpp"

namespace cox::learn {

/// Matrices are stored row by row, a sample a row. Each element is one chain in the order of what it adds up.
/// Held by: src/learn/problem/classifier_test.cpp
struct DenseLayer {
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  std::size_t weights = 0;  ///< where they begin among all parameters: inputs x outputs
  std::size_t bias = 0;

  /// out = in W + b
  void forward(Product& product, const float* x, std::size_t count, const float* in, float* out) const;
  /// before = slope W', 0 where `in` is not above 0; `slope`: of the loss by this layer's output before max.
  void backward(Product& product, const float* x, std::size_t count, const float* in, const float* slope,
                float* before) const;
  /// Adds in' slope to W's gradient, and slope to b's.
  void gradient(Product& product, float* g, std::size_t count, const float* in, const float* slope) const;
};

/// max(0, v) of each; NaN stays NaN.
void cut_below_zero(float* values, std::size_t count);

}  // namespace cox::learn
