// SPDX-License-Identifier: Apache-2.0
#include "learn/problem/dense_layer.hpp"

#include <algorithm>

namespace cox::learn {

void DenseLayer::forward(Product& product, const float* x, std::size_t count, const float* in,
                         float* out) const {
  if (forward_blocks > 1) {
    products(product, x, count, in, out);
    add_bias(x, count, out);
    return;
  }
  const float* of_bias = x + bias;
  for (std::size_t i = 0; i < count; ++i) std::copy(of_bias, of_bias + outputs, out + i * outputs);
  product.add(count, outputs, inputs, rows_of(in, inputs), rows_of(x + weights, outputs), out);
}

void DenseLayer::products(Product& product, const float* x, std::size_t count, const float* in,
                          float* out) const {
  product.in_blocks(count, outputs, inputs, forward_blocks, rows_of(in, inputs),
                    rows_of(x + weights, outputs), out);
}

void DenseLayer::add_bias(const float* x, std::size_t count, float* out) const {
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < outputs; ++j) out[i * outputs + j] += x[bias + j];
}

void DenseLayer::slopes(Product& product, const float* x, std::size_t count, const float* slope,
                        float* before) const {
  product.in_blocks(count, inputs, outputs, backward_blocks, rows_of(slope, outputs),
                    columns_of(x + weights, outputs), before);
}

void DenseLayer::backward(Product& product, const float* x, std::size_t count, const float* in,
                          const float* slope, float* before) const {
  slopes(product, x, count, slope, before);
  cut_slopes(in, count * inputs, before);
}

void DenseLayer::gradient(Product& product, float* g, std::size_t count, const float* in,
                          const float* slope) const {
  float* of_bias = g + bias;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < outputs; ++j) of_bias[j] += slope[i * outputs + j];
  product.add(inputs, outputs, count, columns_of(in, inputs), rows_of(slope, outputs), g + weights);
}

void cut_slopes(const float* in, std::size_t count, float* before) {
  for (std::size_t i = 0; i < count; ++i)
    if (in[i] <= 0) before[i] = 0;
}

void cut_below_zero(float* values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) values[i] = values[i] < 0 ? 0 : values[i];
}

}  // namespace cox::learn
