// SPDX-License-Identifier: Apache-2.0
#include "learn/stability/elastic.hpp"

#include <algorithm>

#include "cox/base/assert.hpp"

#include "learn/stability/unit_circle.hpp"

namespace cox::learn {
namespace {
double pull_of(const ElasticRound& round) {
  return round.centre / static_cast<double>(round.workers);
}
}  // namespace

double elastic_factor(const ElasticRound& round, double a) {
  const double r = pull_of(round);
  const double b = round.momentum;
  const double p = round.centre;
  const double s = 1 + b - a - r;  // of r^2 - s r + d
  const double d = b * (1 - r);
  // (z - (1 - p)) (z^2 - s z + d) - r p (z - b)
  const double left = 1 - p;
  const double mean = largest_root({1, -s - left, d + left * s - r * p, -left * d + r * p * b});
  return round.workers > 1 ? std::max(mean, largest_root({1, -s, d})) : mean;
}

double elastic_edge(const ElasticRound& round) {
  return (1 + round.momentum) * (2 - 2 * pull_of(round) / (2 - round.centre));
}

double elastic_fixed_point(std::span<const LocalQuadratic> workers, double rate, std::int64_t local_steps,
                           double centre) {
  COX_ASSERT(!workers.empty(), "somebody");
  const double pull = centre / static_cast<double>(workers.size());
  double sum = 0;
  double weights = 0;
  for (const LocalQuadratic& w : workers) {
    double left = 1;
    for (std::int64_t k = 0; k < local_steps; ++k) left *= 1 - rate * w.curvature;
    const double weight = (1 - left) / (1 - left + pull);
    sum += weight * w.optimum;
    weights += weight;
  }
  return sum / weights;
}

}  // namespace cox::learn
