// SPDX-License-Identifier: Apache-2.0
/// \file
/// A straight line through estimates of unequal worth that must not leave given bounds. Plain numbers: the
/// caller keeps the units.
#pragma once

#include <vector>

namespace cox::trace {

struct Line {
  double value = 0;  ///< at t = 0
  double slope = 0;
  [[nodiscard]] double at(double t) const { return value + slope * t; }
};

/// What is known at one time.
struct Bounded {
  double t = 0;
  double upper = 0;
  double lower = 0;
  double estimate = 0;
  double doubt = 0;  ///< of the estimate; weights go with its inverse square
};

/// Weighted quantile: smallest value with at least `q` of the weight at or below it. Empty gives 0.
struct Weighted {
  double value = 0;
  double weight = 0;
};
[[nodiscard]] double weighted_quantile(std::vector<Weighted> sample, double q);

/// Weights of the points: inverse squares of their doubts, none more than four times the median one's.
[[nodiscard]] std::vector<double> weights_of(const std::vector<Bounded>& points);

/// The line that follows the estimates, whatever a third of the weight says.
///
/// Formula: slopes between all pairs, weighted median, then weighted least squares without what lies off by
///          more than three times the usual. Without slope: the weighted median.
/// Source:  Theil 1950, Sen 1968, weighted after Jaeckel 1972. Cost: O(points^2).
[[nodiscard]] Line follow(const std::vector<Bounded>& points, const std::vector<double>& weights,
                          bool with_slope);

/// The line nearest to `line` (weighted squares at the points) that keeps within the bounds, each widened by
/// the least slack that leaves a line at all. `line` itself where even `most_slack` leaves none.
/// Formula: the lines within the bounds are a convex polygon over (value, slope): clipped by one half-plane
///          per bound, then the nearest point of its edges. Cost: O(points^2).
[[nodiscard]] Line keep_within(const std::vector<Bounded>& points, const std::vector<double>& weights,
                               const Line& line, double most_slack);

}  // namespace cox::trace
