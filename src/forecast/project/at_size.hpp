// SPDX-License-Identifier: Apache-2.0
/// \file
/// Parts at another number of ranks.
#pragma once

#include <cstdint>

#include "cox/forecast/project.hpp"

#include "forecast/calibrate/parts.hpp"
#include "forecast/project/nests.hpp"

namespace cox::forecast {

/// The whole job's ranks, of one role.
[[nodiscard]] std::int64_t ranks_of(const Parts& parts, const PositionParts& part, std::int64_t ranks);

/// What is left of a rank's own work: all of it in weak scaling.
[[nodiscard]] double factor_at(const Parts& parts, std::int64_t ranks, Scaling scaling);

/// Laws at a size, which then take `factor` times as long. What own work of a strong scaling varies by goes with a power of it.
/// All of them held by: src/forecast/project/project_test.cpp
[[nodiscard]] PositionLaws at_size(PositionLaws laws, const Parts& parts, std::int64_t ranks, double factor);

}  // namespace cox::forecast
