// SPDX-License-Identifier: Apache-2.0
/// \file
/// Cross-entropy of classes.
#pragma once

#include <span>
#include <vector>

namespace cox::learn {

/// What one sample's logits say of its class.
struct ClassLoss {
  double loss = 0;     ///< log sum_c e^(z_c - z_label)
  bool right = false;  ///< the label's logit is the largest, the first of equals
};

/// Turns the logits of one sample into their gradient, softmax(z) - 1 at the label. Exponentials in double, by
/// cox/base/elementary.hpp; `room` is working room. Held by: src/learn/problem/classifier_test.cpp (dual numbers)
ClassLoss cross_entropy(std::span<float> logits, std::size_t label, std::vector<double>& room);

}  // namespace cox::learn
