// SPDX-License-Identifier: Apache-2.0
#include "study/extremes.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

#include "cox/base/assert.hpp"
#include "cox/base/elementary.hpp"

namespace cox::study {

double lognormal_maximum(int n, double cv) {
  COX_ASSERT(n >= 1 && cv >= 0, "somebody is the slowest");
  const double sigma = std::sqrt(logarithm(1 + cv * cv));
  constexpr double kFrom = -8;
  constexpr double kTo = 14;
  constexpr int kIntervals = 4400;
  constexpr double kStep = (kTo - kFrom) / kIntervals;
  const double inverse_root_two_pi = 1 / std::sqrt(2 * std::numbers::pi);
  std::vector<double> below;
  for (int i = 0; i <= kIntervals; ++i) below.push_back(kFrom + i * kStep);
  normal_probabilities(below);
  double sum = 0;
  for (int i = 0; i <= kIntervals; ++i) {
    const double z = kFrom + i * kStep;
    const double f = n * inverse_root_two_pi * power(below[static_cast<std::size_t>(i)], n - 1) *
                     exponential(sigma * z - sigma * sigma / 2 - z * z / 2);
    const int weight = i == 0 || i == kIntervals ? 1 : (i % 2 == 1 ? 4 : 2);
    sum += weight * f;
  }
  return sum * kStep / 3;
}

double pareto_maximum(int n, double shape) {
  COX_ASSERT(n >= 1 && shape > 1, "the law has a mean");
  double ratio = (shape - 1) / shape;
  for (int k = 1; k <= n; ++k) ratio *= k / (k - 1 / shape);
  return ratio;
}

int median_rank_half_width(int n) {
  return std::max(1, static_cast<int>(std::ceil(0.98 * std::sqrt(static_cast<double>(n)))));
}

}  // namespace cox::study
