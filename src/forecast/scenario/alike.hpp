// SPDX-License-Identifier: Apache-2.0
/// \file
/// Unlike synchronisations of a step as so many alike ones: a Scenario of collectives has no word for others.
#pragma once

#include <vector>

#include "forecast/calibrate/parts.hpp"

namespace cox::forecast {

/// A step as `times` synchronisations that are alike.
struct AlikeStep {
  std::vector<PositionParts> roles{};  ///< work before each, by role, in the order of the parts
  int times = 1;
};

/// Before each there is the mean of the work. Its law has the mean of the quantiles, so that the slowest of N of it is the mean of
/// the positions' slowest, exactly and for every N: E max = integral of Q(u) d(u^N) is linear in Q. What steps vary by is not: it
/// is less where positions are unlike. Positions with less than a twentieth of the work count as compute, not as meetings.
/// Formula: levels, normal deviations and skewnesses by their means; what all share in a step by the mean of variances.
/// Pre: at least one position (asserted). Held by: src/forecast/scenario/alike_test.cpp
[[nodiscard]] AlikeStep alike_step(const Parts& parts);

}  // namespace cox::forecast
