// SPDX-License-Identifier: Apache-2.0
/// \file
/// What Runs tell beside own work, as lines and as JSON.
#pragma once

#include <string>
#include <vector>

#include "cox/base/json.hpp"

#include "forecast/calibrate/run_parameters.hpp"

namespace cox::forecast {

/// A line each; `all`: those of one size of messages and of nothing that failed, too.
[[nodiscard]] std::vector<std::string> run_lines(const RunParameters& run, bool all);

/// docs/reference/forecast-json.md, `run`. Held by: src/forecast/answer/run_parameters_text_test.cpp
[[nodiscard]] Json run_json(const RunParameters& run);

}  // namespace cox::forecast
