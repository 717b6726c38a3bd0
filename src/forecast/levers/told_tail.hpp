// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which part of the own work that a Scenario states is its tail, by the rule by which a Run tells one.
#pragma once

#include "forecast/calibrate/parts.hpp"

namespace cox::forecast {

/// The parts, where each law of own work that is stated has a tail or a longer mode as a Run of as many ranks and steps that
/// draws it would tell one, so that levers on detours are the same of both. Laws that were measured stay, and so do constants.
///
/// Formula: the law's quantiles at (i + 1/2) / n, n = ranks x steps (200 to 50,000), as if they were recorded: `gap_in`, else `fit_tails`,
///          with what of n is independent (1 - c) / (1 + c) for a correlation c from step to step. Shape of the tail: that of quantiles at 100
///          and 10,000 times smaller probability. Errors: none. Threads: safe. Cost: 10 ms a law.
/// Held by: src/forecast/levers/told_tail_test.cpp
[[nodiscard]] Parts with_told_tails(Parts parts);

}  // namespace cox::forecast
