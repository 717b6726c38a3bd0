// SPDX-License-Identifier: Apache-2.0
/// \file
/// The upper tail of a sample: generalised Pareto above a threshold.
#pragma once

#include <span>
#include <vector>

#include "forecast/calibrate/parts.hpp"

namespace cox::forecast {

/// A generalised Pareto law of these excesses over a threshold (positive, in any order).
/// Formula: profile likelihood in tau = shape / scale: shape = mean ln(1 + tau x), -ln(shape / tau) - shape - 1 is largest.
/// Source: Grimshaw 1993, "Computing maximum likelihood estimates for the generalized Pareto distribution".
/// The shape is held to [-0.5, 2]. Held by: src/forecast/calibrate/tail_test.cpp, all
struct ParetoFit {
  double shape = 0;
  double scale = 0;
};
[[nodiscard]] ParetoFit fit_pareto(std::span<const double> excesses);

/// Fits above 0.3, 1, 3 and 10 % of what is `ascending`, each where at least 50 of the exceedances count as independent
/// (`independent`: which part of all values does). That of 10 % is kept where Anderson, Darling's A² is below 0.8: so far down
/// few laws are Pareto's, but one that is, is told there three times as well.
/// Source of the limit: Choulakian, Stephens 2001, "Goodness-of-fit tests for the generalized Pareto distribution".
[[nodiscard]] std::vector<TailFit> fit_tails(std::span<const double> ascending, double independent);

/// Body by 201 quantiles, and a tail above its 1 % (3 % where that alone was fitted) that goes through the mean of the fits at
/// 1 in 10^4 and 1 in 10^7. Without a fit: exponential above 10 %, with the scale that is seen there.
[[nodiscard]] Law body_and_tail(std::span<const double> ascending, std::span<const TailFit> fits);
/// The same with one tail as it is.
[[nodiscard]] Law body_and_tail(std::span<const double> ascending, const Tail& tail);

}  // namespace cox::forecast
