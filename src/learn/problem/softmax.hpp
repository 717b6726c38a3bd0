// SPDX-License-Identifier: Apache-2.0
/// \file
/// Cross-entropy of classes.
#pragma once

#include <algorithm>
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

/// `part(first, count, sums)` for each stretch of at most `most` samples, in their order.
template <class Part>
ClassSums by_parts(std::int64_t first, std::int64_t count, std::size_t most, const Part& part) {
  ClassSums sums;
  for (std::int64_t done = 0; done < count; done += static_cast<std::int64_t>(most))
    part(first + done, std::min(most, static_cast<std::size_t>(count - done)), sums);
  return sums;
}
/// Mean loss of a shard's samples; `part` adds their gradients into `g`, which is then their mean.
template <class Part>
double mean_gradient(const Shard& shard, std::size_t most, std::span<float> g, const Part& part) {
  std::ranges::fill(g, 0.0F);
  const ClassSums sums = by_parts(shard.first, shard.count, most, part);
  const auto scale = static_cast<float>(1 / static_cast<double>(shard.count));
  for (float& v : g) v *= scale;
  return sums.loss / static_cast<double>(shard.count);
}

}  // namespace cox::learn
