// SPDX-License-Identifier: Apache-2.0
/// \file
/// Regimes and margins of a job that is known by its parts.
#pragma once

#include "cox/forecast/margin.hpp"
#include "cox/forecast/parts.hpp"
#include "cox/forecast/project.hpp"
#include "cox/forecast/regimes.hpp"

namespace cox::forecast {

/// The job at any size, its mechanisms one by one: own noise, what persists, what nodes share, communication.
[[nodiscard]] ScalingJob scaling_job_of(const Parts& parts, const ProjectOptions& options);

/// Where it bends up to `most` ranks. Cost: 0.2 ms x 8 a doubling x (1 + mechanisms).
[[nodiscard]] Regimes regimes_of_parts(const Parts& parts, const ProjectOptions& options, std::int64_t most);

/// How far it is, at this size, from the next boundary that is below its elasticity.
[[nodiscard]] Margins margins_of_parts(const Parts& parts, const ProjectOptions& options, std::int64_t ranks);

}  // namespace cox::forecast
