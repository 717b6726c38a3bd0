// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which sizes get no number, and what is said of them instead.
#pragma once

#include <cstdint>
#include <string>

#include "cox/base/units.hpp"
#include "cox/forecast/project.hpp"

#include "forecast/calibrate/parts.hpp"

namespace cox::forecast {

/// What a refused size is compared with: the step at the ranks that were seen, or stated.
struct SeenStep {
  Seconds mean{};
  std::int64_t ranks = 0;

  /// `between 1.6x and 4x of the step at 64 ranks`
  [[nodiscard]] std::string times(Seconds low, Seconds high) const;
  [[nodiscard]] std::string size() const;
};

/// Numbers that are none: why they are not shown; empty = all are.
[[nodiscard]] std::string no_finite(const SizePoint& point);

/// Upper over lower end of a band that is still told: 2, and 8 where most of it is what may surface of communication that work hides.
/// Held by: src/forecast/ways/overlapped_rest_test.cpp
[[nodiscard]] double widest_band(const SizePoint& point, const TimeEstimate& rest);

/// Why there is no number; empty where there is one. `alone`: own work of a rank and communication at this size. `rest`: that communication.
/// Held by: src/forecast/project/unknown_test.cpp
[[nodiscard]] std::string refusal(const Parts& parts, const SizePoint& point, Seconds alone,
                                  const TimeEstimate& rest, const SeenStep& seen);

}  // namespace cox::forecast
