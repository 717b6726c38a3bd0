// SPDX-License-Identifier: Apache-2.0
#include "learn/stability/local_rounds.hpp"

#include <cmath>

#include "cox/base/assert.hpp"

namespace cox::learn {
namespace {

/// What K steps leave of a distance.
double left_after(double a, std::int64_t steps) {
  double factor = 1 - a;
  double left = 1;
  for (; steps > 0; steps /= 2, factor *= factor)
    if (steps % 2 == 1) left *= factor;
  return left;
}

template <class Weight>
double weighted_optimum(std::span<const LocalQuadratic> workers, Weight weight) {
  COX_ASSERT(!workers.empty(), "somebody");
  double sum = 0;
  double weights = 0;
  for (const LocalQuadratic& w : workers) {
    sum += weight(w) * w.optimum;
    weights += weight(w);
  }
  return sum / weights;
}

double mean_value(std::span<const LocalQuadratic> workers, double x) {
  double sum = 0;
  for (const LocalQuadratic& w : workers) sum += w.curvature * (x - w.optimum) * (x - w.optimum) / 2;
  return sum / static_cast<double>(workers.size());
}

}  // namespace

double mean_optimum(std::span<const LocalQuadratic> workers) {
  return weighted_optimum(workers, [](const LocalQuadratic& w) { return w.curvature; });
}

double mean_gap(std::span<const LocalQuadratic> workers, double x) {
  return mean_value(workers, x) - mean_value(workers, mean_optimum(workers));
}

double local_fixed_point(std::span<const LocalQuadratic> workers, double rate, std::int64_t local_steps) {
  return weighted_optimum(
      workers, [&](const LocalQuadratic& w) { return 1 - left_after(rate * w.curvature, local_steps); });
}

double local_round_factor(std::span<const LocalQuadratic> workers, double rate, std::int64_t local_steps) {
  double sum = 0;
  for (const LocalQuadratic& w : workers) sum += left_after(rate * w.curvature, local_steps);
  return sum / static_cast<double>(workers.size());
}

double fedprox_fixed_point(std::span<const LocalQuadratic> workers, double pull) {
  return weighted_optimum(workers,
                          [&](const LocalQuadratic& w) { return w.curvature / (w.curvature + pull); });
}

double local_spread(std::int64_t workers, double rate, double curvature, std::int64_t local_steps) {
  const double a = rate * curvature;
  const double shrink = (1 - a) * (1 - a);
  return (1 - 1 / static_cast<double>(workers)) * rate * rate * (1 - left_after(a, 2 * local_steps)) /
         (1 - shrink);
}

double diloco_factor(double outer_rate, double outer_momentum, double q) {
  // r^2 - s r + p
  const double left = 1 - outer_rate * (1 - q);
  const double s = (1 + outer_momentum) * left;
  const double p = outer_momentum * left;
  const double inside = s * s / 4 - p;
  if (inside < 0) return std::sqrt(p);  // a pair of complex roots, whose product is p
  return std::abs(s) / 2 + std::sqrt(inside);
}

}  // namespace cox::learn
