// SPDX-License-Identifier: Apache-2.0
#include "learn/problem/softmax.hpp"

#include <algorithm>

#include "cox/base/elementary.hpp"

namespace cox::learn {

double softmax(std::span<float> logits, std::vector<double>& room) {
  const auto top = static_cast<double>(*std::ranges::max_element(logits));
  room.assign(logits.begin(), logits.end());
  for (double& v : room) v -= top;
  exponentials(room);
  double sum = 0;
  for (const double v : room) sum += v;
  for (std::size_t c = 0; c < logits.size(); ++c) logits[c] = static_cast<float>(room[c] / sum);
  return sum;
}

ClassLoss cross_entropy(std::span<float> logits, std::size_t label, std::vector<double>& room) {
  const auto largest = std::ranges::max_element(logits);
  const bool right = largest - logits.begin() == static_cast<std::ptrdiff_t>(label);
  const double below = static_cast<double>(logits[label]) - static_cast<double>(*largest);
  const double sum = softmax(logits, room);
  logits[label] -= 1;
  return {.loss = logarithm(sum) - below, .right = right};
}

void cross_entropies(std::span<float> logits, std::span<const std::size_t> labels, ClassSums& sums,
                     std::vector<double>& room) {
  const std::size_t classes = logits.size() / labels.size();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const ClassLoss one = cross_entropy(logits.subspan(i * classes, classes), labels[i], room);
    sums.loss += one.loss;
    sums.right += one.right ? 1 : 0;
  }
}

}  // namespace cox::learn
