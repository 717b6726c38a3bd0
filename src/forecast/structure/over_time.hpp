// SPDX-License-Identifier: Apache-2.0
/// \file
/// How the structure of a long run changes, from a sample. Definitions and limits: docs/concepts/structure.md.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/forecast/over_time.hpp"

#include "forecast/sample/sample.hpp"

namespace cox::forecast {

/// Source: Kendall 1938; the law of the number of inversions by its recursion. Ties count as half each way, which makes
/// `chance` too large. Pre: at most 100 values (asserted). Held by: src/forecast/structure/early_warning_test.cpp
[[nodiscard]] Trend rising(std::span<const double> values);

/// Alarms in at most 5 % of stationary runs, whatever the law of their times: windows that can be exchanged have an exact
/// test. Windows are at least 20 correlation times, (1 + phi) / (1 - phi) steps, and 50 steps long; there are 5 to
/// `most_windows` of them, else no verdict. `margins`: one per window of `windows_of(sample)`, or empty.
/// Held by: src/forecast/structure/early_warning_test.cpp (false alarms and power, counted)
[[nodiscard]] EarlyWarning early_warning(const Sample& sample, std::span<const double> margins = {},
                                         int most_windows = 10);

/// Windows of equal length, as `early_warning` takes them; what is left over stands before the first. Empty = too short.
[[nodiscard]] std::vector<StepRange> windows_of(const Sample& sample, int most_windows = 10);

/// Per restart ln MAD of the step times in `around` steps after it less that before it; Student's t over restarts.
/// `restarts`: index of the first step after each, ascending. Between two restarts steps count once: half for each.
/// Restarts with fewer than 20 steps on a side are left out. Held by: src/forecast/structure/over_time_test.cpp
[[nodiscard]] RestartTest after_restarts(std::span<const SampleStep> steps,
                                         std::span<const std::size_t> restarts, std::size_t around = 200);
/// Where a sample's steps tell of one: a number that was there before, or steps that follow each other with a gap of more
/// than ten usual steps between them.
[[nodiscard]] std::vector<std::size_t> restarts_of(const Sample& sample);

/// How far a window is from the boundary, ln of the factor; nothing = it cannot be told.
using MarginOf = std::function<std::optional<double>(const Sample& window)>;

/// Errors: those of `structure_of`. Cost: that of `structure_of`, and one call of `margin` per window.
/// Held by: src/forecast/structure/over_time_test.cpp
[[nodiscard]] Result<OverTime> over_time_of(const Sample& sample, const MarginOf& margin = {});

}  // namespace cox::forecast
