// SPDX-License-Identifier: Apache-2.0
/// \file
/// The long form of a job's structure, from what a forecast is made of.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cox/base/json.hpp"

#include "forecast/answer/forecast.hpp"

namespace cox::forecast {

/// Of a sample (null = there is none) and of what the forecast has by then: parts, structure, scenario, sizes.
/// Errors:  none; what cannot be told is in `notes`.
/// Cost:    of a sample 1 s; of a Scenario up to 16 x (12 + nodes) simulations of 20 steps, above 4,096 ranks (256 where
///          links are shared) none. Threads: same result for any number. Held by: src/forecast/answer/structure_detail_test.cpp
[[nodiscard]] StructureDetail detail_of(const FullForecast& forecast, const Sample* sample,
                                        const Asked& question);

/// `jitter_margin` of a sample at its own size; nothing too where it has no parts.
[[nodiscard]] std::optional<double> window_margin(const Sample& window, double level,
                                                  const ProjectOptions& options);

/// Who sets the pace, what changed and what warns: a line each, where it says something.
[[nodiscard]] std::vector<std::string> structure_lines(const FullForecast& forecast);
/// The long form.
[[nodiscard]] std::vector<std::string> structure_detail_lines(const FullForecast& forecast);

/// Keys: docs/reference/forecast-json.md.
[[nodiscard]] Json structure_json(const Structure& structure);
[[nodiscard]] Json over_time_json(const OverTime& over_time);
[[nodiscard]] Json structure_detail_json(const StructureDetail& detail);

}  // namespace cox::forecast
