// SPDX-License-Identifier: Apache-2.0
/// \file
/// One number of the margins of a job, for a column, and between which its draws lie.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "cox/forecast/levers.hpp"
#include "cox/forecast/regimes.hpp"

#include "forecast/regimes/margin.hpp"

namespace cox::forecast {

/// The boundary below this elasticity.
[[nodiscard]] inline double next_level(double elasticity) {
  return elasticity >= kLinearAbove ? kLinearAbove : elasticity >= kSublinearAbove ? kSublinearAbove : 0;
}

/// The smallest change of one parameter that crosses, as a factor of at least 1; 1 = crossed already; infinite = none does.
/// Held by: src/forecast/levers/by_parts_test.cpp
[[nodiscard]] inline double nearest_margin(const Margins& margins) {
  if (margins.crossed) return 1;
  double least = std::numeric_limits<double>::infinity();
  for (const Margin& one : margins.alone)
    if (one.factor) least = std::min(least, std::abs(std::log(*one.factor)));
  return std::exp(least);
}

/// Nine in ten draws, and the estimate: draws are computed more coarsely. Empty = there are none.
/// Held by: src/forecast/levers/by_parts_test.cpp
[[nodiscard]] inline std::optional<DrawnEnds> ends_of(std::vector<double> drawn, double estimate) {
  if (drawn.empty()) return std::nullopt;
  std::ranges::sort(drawn);
  const auto last = static_cast<double>(drawn.size() - 1);
  return DrawnEnds{.low = std::min(drawn[static_cast<std::size_t>(std::floor(0.05 * last))], estimate),
                   .high = std::max(drawn[static_cast<std::size_t>(std::ceil(0.95 * last))], estimate)};
}

}  // namespace cox::forecast
