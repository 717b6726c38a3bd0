// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parts with their parameters drawn again: what bands of boundaries and of levers are made of.
#pragma once

#include <cstdint>

#include "forecast/calibrate/parts.hpp"
#include "forecast/project/project.hpp"

namespace cox::forecast {

/// A draw of all parameters from their intervals. One (seed, replicate) is one draw for all jobs that have a parameter.
/// Held by: src/forecast/regimes/parts_job_test.cpp
[[nodiscard]] Parts redrawn(const Parts& parts, std::uint64_t seed, std::uint64_t replicate);
/// With nodes that were not seen, as this draw has them.
/// Held by: src/forecast/regimes/parts_job_test.cpp
[[nodiscard]] Parts with_unseen(Parts parts, const Unseen& unseen);
/// Where in its range communication lies in that draw: 0 to 1.
[[nodiscard]] double place_of_rest(std::uint64_t seed, std::uint64_t replicate);

}  // namespace cox::forecast
