// SPDX-License-Identifier: Apache-2.0
#include "cox/base/elementary.hpp"

#include "base/kernels/vector_kernels.hpp"

namespace cox {

void exponentials(std::span<double> values) {
  kernels::vector_kernels().exponentials(values.size(), values.data());
}
void logarithms(std::span<double> values) {
  kernels::vector_kernels().logarithms(values.size(), values.data());
}
void normal_quantiles(std::span<double> values) {
  kernels::vector_kernels().normal_quantiles(values.size(), values.data());
}
void normal_probabilities(std::span<double> values) {
  kernels::vector_kernels().normal_probabilities(values.size(), values.data());
}

double exponential(double x) {
  kernels::vector_kernels().exponentials(1, &x);
  return x;
}
double logarithm(double x) {
  kernels::vector_kernels().logarithms(1, &x);
  return x;
}
double power(double x, double y) {
  return exponential(y * logarithm(x));
}

double gamma_function(double x) {
  constexpr double kHalfLogTwoPi = 0.91893853320467274178;
  double product = 1;
  while (x < 16) {
    product *= x;
    x += 1;
  }
  const double r = 1 / (x * x);
  const double series = (1.0 / 12 - r * (1.0 / 360 - r * (1.0 / 1260 - r * (1.0 / 1680 - r / 1188)))) / x;
  return exponential((x - 0.5) * logarithm(x) - x + kHalfLogTwoPi + series) / product;
}

}  // namespace cox
