// SPDX-License-Identifier: Apache-2.0
#include "study/oracle/extremes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

#include "cox/base/assert.hpp"
#include "cox/base/elementary.hpp"
#include "cox/base/random.hpp"
#include "cox/base/stats.hpp"

namespace cox::study {
namespace {

/// Moments of value(z) for z the largest of n standard normal draws.
template <class F>
MaximumMoments of_normal(int n, const F& value) {
  COX_ASSERT(n >= 1, "somebody is the slowest");
  constexpr double kFrom = -8;
  constexpr double kTo = 14;
  constexpr int kIntervals = 4400;
  constexpr double kStep = (kTo - kFrom) / kIntervals;
  std::vector<double> below;
  for (int i = 0; i <= kIntervals; ++i) below.push_back(kFrom + i * kStep);
  normal_probabilities(below);
  double first = 0;
  double second = 0;
  for (int i = 0; i <= kIntervals; ++i) {
    const double z = kFrom + i * kStep;
    const int weight = i == 0 || i == kIntervals ? 1 : (i % 2 == 1 ? 4 : 2);
    const double density = n * power(below[static_cast<std::size_t>(i)], n - 1) * exponential(-z * z / 2) /
                           std::sqrt(2 * std::numbers::pi);
    const double v = value(z);
    first += weight * density * v;
    second += weight * density * v * v;
  }
  first *= kStep / 3;
  second *= kStep / 3;
  return {.mean = first, .deviation = std::sqrt(std::max(0.0, second - first * first))};
}

/// E[(max of n)^power] in units of the smallest value.
double pareto_moment(int n, double shape, int power) {
  double moment = 1;
  for (int k = 1; k <= n; ++k) moment *= k / (k - power / shape);
  return moment;
}

}  // namespace

MaximumMoments exponential_maximum(int n) {
  COX_ASSERT(n >= 1, "somebody is the slowest");
  double mean = 0;
  double variance = 0;
  for (int k = 1; k <= n; ++k) {
    mean += 1.0 / k;
    variance += 1.0 / k / k;
  }
  return {.mean = mean, .deviation = std::sqrt(variance)};
}

MaximumMoments normal_maximum(int n, double cv) {
  return of_normal(n, [cv](double z) { return 1 + cv * z; });
}

MaximumMoments lognormal_maximum(int n, double cv) {
  const double variance = logarithm(1 + cv * cv);
  const double sigma = std::sqrt(variance);
  return of_normal(n, [=](double z) { return exponential(sigma * z - variance / 2); });
}

double lognormal_maximum_median(int n, double cv) {
  const double variance = logarithm(1 + cv * cv);
  std::array<double, 1> z = {exponential(-logarithm(2) / n)};
  normal_quantiles(z);
  return exponential(std::sqrt(variance) * z[0] - variance / 2);
}

double lognormal_one_beyond(int n, double cv, double factor) {
  std::array<double, 1> below = {logarithm(factor) / std::sqrt(logarithm(1 + cv * cv))};
  normal_probabilities(below);
  return 1 - power(below[0], n);
}

MaximumMoments pareto_maximum(int n, double shape) {
  COX_ASSERT(n >= 1 && shape > 2, "the law has a variance");
  const double first = pareto_moment(n, shape, 1);
  const double second = pareto_moment(n, shape, 2);
  const double mean = shape / (shape - 1);
  return {.mean = first / mean, .deviation = std::sqrt(second - first * first) / mean};
}

double pareto_maximum_mean(int n, double shape) {
  COX_ASSERT(n >= 1 && shape > 1, "the law has a mean");
  return pareto_moment(n, shape, 1) * (shape - 1) / shape;
}

double pareto_cv_limit(double shape) {
  COX_ASSERT(shape > 2, "the law has a variance");
  const double first = gamma_function(1 - 1 / shape);
  return std::sqrt(gamma_function(1 - 2 / shape) / (first * first) - 1);
}

MaximumMoments sampled_maximum(Jitter jitter, int n, std::uint64_t seed) {
  constexpr std::uint32_t kStream = 0x72;
  constexpr std::uint64_t kSteps = 20'000;
  const RandomStream stream(seed, kStream);
  std::vector<double> draw(static_cast<std::size_t>(n));
  Welford all;
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    stream.uniforms(step, 0, draw);
    // All three laws are monotonic in their uniform draw: only the largest has to be turned into a time.
    const double u = *std::max_element(draw.begin(), draw.end());
    if (jitter == Jitter::Exponential) {
      all.add(-logarithm(1 - u));
      continue;
    }
    std::array<double, 1> z = {u};
    normal_quantiles(z);
    const double variance = logarithm(1.25);
    all.add(jitter == Jitter::Normal ? 1 + 0.1 * z[0]
                                     : exponential(std::sqrt(variance) * z[0] - variance / 2));
  }
  return {.mean = all.mean(), .deviation = all.stddev()};
}

double largest_independent_cv(int fewer, double cv, double mean_fewer, int more, double mean_more) {
  COX_ASSERT(fewer >= 1 && more % fewer == 0 && mean_more > 0, "the larger job is made of smaller ones");
  return std::sqrt(static_cast<double>(more) / fewer) * cv * mean_fewer / mean_more;
}

}  // namespace cox::study
