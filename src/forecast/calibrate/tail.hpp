// SPDX-License-Identifier: Apache-2.0
/// \file
/// The upper tail of a sample: generalised Pareto above a threshold.
#pragma once

#include <cstddef>
#include <optional>
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
/// few laws are Pareto's, but one that is, is told there three times as well. Those whose law is none (A² above 2.5) are left out; where all are,
/// the first of 2, 1.5, 1.2 and 1.05 % that fits is taken: of detours rarer than the threshold. Each without its likelihood's bias.
/// Source of the limit: Choulakian, Stephens 2001, "Goodness-of-fit tests for the generalized Pareto distribution".
[[nodiscard]] std::vector<TailFit> fit_tails(std::span<const double> ascending, double independent);

/// Where a gap parts what is `ascending`: the first value above it. The clearest one that has 5 values to 30 % of all above it.
/// Formula: of k values above a gap of width D, with a mean excess m over the least of them, D / m is above t by chance with
///          (1 + t)^-(k-1) where the tail is exponential; less than e^-10 / k is asked, 1 in 4,000 over all k. D is also above
///          three times what the values beside it are apart by, so that rounding is no gap.
/// Source:  Rényi 1953, "On the theory of order statistics". Held by: src/forecast/calibrate/tail_test.cpp
[[nodiscard]] std::optional<std::size_t> gap_in(std::span<const double> ascending);

/// The law of what is `ascending`, as one mode. Shape and exceedances of the middle threshold.
[[nodiscard]] TailedLaw tailed_law(std::span<const double> ascending, double independent);
/// The same of both modes where there is a gap; of more than two the lowest, and the rest as the longer one.
[[nodiscard]] std::optional<LongerMode> modes_of(std::span<const double> ascending, double independent);
[[nodiscard]] Law law_of(const LongerMode& modes, double share);
[[nodiscard]] double share_of_longer(const LongerMode& modes);

/// Of the middle one of what is told, with its interval; a range where nothing is.
[[nodiscard]] RatioEstimate shape_of(const std::vector<TailFit>& tails);
/// Above which part of all values that one begins: 10 % where nothing is told.
[[nodiscard]] double probability_of(const std::vector<TailFit>& tails);

/// Body by 201 quantiles, and a tail above its 1 % (3 % where that alone was fitted) that goes through the mean of the fits at
/// 1 in 10^4 and 1 in 10^7. Without a fit: exponential above 10 %, with the scale that is seen there.
[[nodiscard]] Law body_and_tail(std::span<const double> ascending, std::span<const TailFit> fits);
/// The same with one tail as it is.
[[nodiscard]] Law body_and_tail(std::span<const double> ascending, const Tail& tail);

}  // namespace cox::forecast
