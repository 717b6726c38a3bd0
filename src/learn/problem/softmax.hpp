// SPDX-License-Identifier: Apache-2.0
/// \file
/// Cross-entropy of classes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cox/learn/problem.hpp"

namespace cox::learn {

/// What one sample's logits say of its class.
struct ClassLoss {
  double loss = 0;     ///< log sum_c e^(z_c - z_label)
  bool right = false;  ///< the label's logit is the largest, the first of equals
};

/// Turns logits z into e^z over their sum; returns the sum of e^(z - max z). Exponentials in double, by
/// cox/base/elementary.hpp; `room` is working room. Held by: src/learn/problem/experts_test.cpp (dual numbers)
double softmax(std::span<float> logits, std::vector<double>& room);
/// Turns the logits of one sample into their gradient, softmax(z) - 1 at the label. Held by: src/learn/problem/classifier_test.cpp (dual numbers)
ClassLoss cross_entropy(std::span<float> logits, std::size_t label, std::vector<double>& room);

/// Losses and hits of samples, added up in their order.
struct ClassSums {
  double loss = 0;
  std::size_t right = 0;
  [[nodiscard]] Score score(std::int64_t samples) const {
    const auto n = static_cast<double>(samples);
    return {.loss = loss / n, .accuracy = static_cast<double>(right) / n};
  }
};
/// `cross_entropy` of each sample: as many logits for each as there are classes.
void cross_entropies(std::span<float> logits, std::span<const std::size_t> labels, ClassSums& sums,
                     std::vector<double>& room);

}  // namespace cox::learn
