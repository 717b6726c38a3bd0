// SPDX-License-Identifier: Apache-2.0
/// \file
/// What makes a band wide.
#pragma once

#include <cstdint>
#include <string>

#include "forecast/calibrate/parts.hpp"

namespace cox::forecast {

/// Of what is not known of a job, what moves the step most between the ends of its interval, at this size: for a sentence. Empty
/// where nothing does. `rest`: communication at this size. Formula: deviations times sqrt(2 ln N), the tail at 1 in N.
/// Held by: src/forecast/project/unknown_test.cpp
[[nodiscard]] std::string largest_unknown(const Parts& parts, std::int64_t ranks, const TimeEstimate& rest);

}  // namespace cox::forecast
