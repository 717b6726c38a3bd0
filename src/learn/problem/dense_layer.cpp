// SPDX-License-Identifier: Apache-2.0
#include "learn/problem/dense_layer.hpp"

#include <algorithm>

namespace cox::learn {

void DenseLayer::forward(Product& product, const float* x, std::size_t count, const float* in,
                         float* out) const {
  const float* of_bias = x + bias;
  for (std::size_t i = 0; i < count; ++i) std::copy(of_bias, of_bias + outputs, out + i * outputs);
  product.add(count, outputs, inputs, rows_of(in, inputs), rows_of(x + weights, outputs), out);
}

void DenseLayer::backward(Product& product, const float* x, std::size_t count, const float* in,
                          const float* slope, float* before) const {
  std::fill(before, before + count * inputs, 0.0F);
  product.add(count, inputs, outputs, rows_of(slope, outputs), columns_of(x + weights, outputs), before);
  for (std::size_t i = 0; i < count * inputs; ++i)
    if (in[i] <= 0) before[i] = 0;
}

void DenseLayer::gradient(Product& product, float* g, std::size_t count, const float* in,
                          const float* slope) const {
  float* of_bias = g + bias;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < outputs; ++j) of_bias[j] += slope[i * outputs + j];
  product.add(inputs, outputs, count, columns_of(in, inputs), rows_of(slope, outputs), g + weights);
}

void cut_below_zero(float* values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) values[i] = values[i] < 0 ? 0 : values[i];
}

}  // namespace cox::learn
