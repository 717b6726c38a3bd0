// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a sample says of a job's structure. Definitions, formulas and estimators: docs/concepts/structure.md.
#pragma once

#include <span>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/forecast/structure.hpp"

#include "forecast/sample/sample.hpp"

namespace cox::forecast {

/// `successes` may be a fraction where ties are split. Source: Wilson 1927. No trials: [0, 1].
/// Held by: src/forecast/structure/concentration_test.cpp
[[nodiscard]] Proportion wilson(double successes, double trials);

/// Errors: forecast-020 (step times only: nothing says who was last), forecast-001 (see `check`).
/// Cost: linear, and 400 x steps for what it depends on. Order of ranks changes nothing but the last digits.
/// Held by: src/forecast/structure/structure_test.cpp, concentration_test.cpp
[[nodiscard]] Result<Structure> structure_of(const Sample& sample);

/// Entropy and its kin of shares that add up to 1. `counted`: of how many independent synchronisations they are; 0 = exact
/// (no correction). Without moves. Held by: src/forecast/structure/concentration_test.cpp
[[nodiscard]] Concentration concentration_of(std::span<const double> shares, double counted);

/// How much of `delay` on one random rank, before a random synchronisation, is kept. Pre: delay > 0, the sample has positions
/// (asserted). Held by: src/forecast/structure/structure_test.cpp
[[nodiscard]] KeptPart kept_of(const Sample& sample, Seconds delay);

}  // namespace cox::forecast
