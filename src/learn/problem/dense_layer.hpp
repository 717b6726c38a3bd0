// SPDX-License-Identifier: Apache-2.0
/// \file
/// A layer of weights and biases, forth and back.
#pragma once

#include <cstddef>
#include <cstdint>

#include "learn/product/product.hpp"

namespace cox::learn {

/// Matrices are stored row by row, a sample a row. Each element is one chain in the order of what it adds up.
/// Held by: src/learn/problem/classifier_test.cpp
struct DenseLayer {
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  std::size_t weights = 0;  ///< where they begin among all parameters: inputs x outputs
  std::size_t bias = 0;
  /// Of the inner dimension, in an aligned tree, forth and back; 1: it is one chain, which begins at b forth.
  std::size_t forward_blocks = 1;
  std::size_t backward_blocks = 1;

  /// out = in W + b. In several blocks: `products` and `add_bias`.
  void forward(Product& product, const float* x, std::size_t count, const float* in, float* out) const;
  /// out = in W, in `forward_blocks`.
  void products(Product& product, const float* x, std::size_t count, const float* in, float* out) const;
  void add_bias(const float* x, std::size_t count, float* out) const;
  /// before = slope W', in `backward_blocks`.
  void slopes(Product& product, const float* x, std::size_t count, const float* slope, float* before) const;
  /// before = slope W', 0 where `in` is not above 0; `slope`: of the loss by this layer's output before max.
  void backward(Product& product, const float* x, std::size_t count, const float* in, const float* slope,
                float* before) const;
  /// Adds in' slope to W's gradient, and slope to b's.
  void gradient(Product& product, float* g, std::size_t count, const float* in, const float* slope) const;
};

/// How tensor parallelism cuts a layer's weights: pairs of columns and rows from the first layer on; one that is left over is whole.
enum class Split : std::uint8_t { Columns, Rows, Whole };
[[nodiscard]] inline Split split_of(std::size_t layer, std::size_t layers) {
  if (layer % 2 == 1) return Split::Rows;
  return layer + 1 < layers ? Split::Columns : Split::Whole;
}

/// Slopes by what was not above 0 are 0.
void cut_slopes(const float* in, std::size_t count, float* before);
/// max(0, v) of each; NaN stays NaN.
void cut_below_zero(float* values, std::size_t count);

}  // namespace cox::learn
