// SPDX-License-Identifier: Apache-2.0
/// \file
/// A table of sizes and values, continued.
#pragma once

#include <cstdint>
#include <vector>

#include "cox/forecast/curves.hpp"

#include "forecast/project/project.hpp"
#include "forecast/sample/sample.hpp"

namespace cox::forecast {

/// Models are fitted by least squares of relative errors, coefficients not below zero. The value is that of the model with
/// the least held-out error (the simplest among equals), and of two sizes, of which no growth can be held out, no better than at
/// the larger one; the band spans all that count, widened by the best held-out error
/// times how many times further the size is, in logarithms, than the largest was from the one before it; where one curve alone
/// was held out and counts, as of two sizes, that error is 2 % at least: what published weak scalings add in a doubling. Refused: beyond the
/// table with one size; where the band is wider than a factor of 2.
/// Source: Extra-P's held-out choice (Calotoiu et al. 2013); USL: Gunther 2007. Limits: docs/concepts/forecasting.md.
/// Pre: at least one point, ascending (as read). Cost: microseconds a point.
/// Held by: src/forecast/ways/curves_test.cpp
[[nodiscard]] CurveForecast project_curve(const Curve& curve, const std::vector<std::int64_t>& sizes,
                                          Scaling scaling);

}  // namespace cox::forecast
