// SPDX-License-Identifier: Apache-2.0
/// \file
/// From what was seen to what the job is made of.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "cox/base/result.hpp"

#include "forecast/calibrate/parts.hpp"
#include "forecast/sample/sample.hpp"

namespace cox::forecast {

/// What own work is at another size.
enum class WorkOf : std::uint8_t {
  Rank,   ///< as much: what grows does so slowly, as a rule
  Whole,  ///< a part of the whole, here times ranks over those of the largest sample: what is not divided grows by a line
};

/// How a note of parts begins that says how it goes on with the size.
inline constexpr std::string_view kBesideOwnWork = "what a step has beside own work";

/// The parts of one job, from samples of it: one, or several at different sizes, in any order. What is a rank's, a node's or a
/// step's is estimated from all of them together; how the level and the rest go on with the size, from their comparison.
///
/// Formula: components of variance by mean squares; the node's part in a step by cumulants; the tail above 0.3, 1 and 3 % by
///          maximum likelihood. Source: docs/concepts/forecasting.md.
/// Errors:  forecast-001 (a sample that is none), forecast-010 (step times only), forecast-011 (samples of different jobs).
/// Cost:    about 0.3 us a time of own work, most of it sorting. Permuting ranks or samples changes no bit beyond the order of sums.
/// Held by: src/forecast/calibrate/calibrate_test.cpp, bench/forecast_accuracy.cpp
[[nodiscard]] Result<Parts> calibrate(std::span<const Sample> samples, WorkOf work = WorkOf::Rank);
[[nodiscard]] Result<Parts> calibrate(const Sample& sample);

/// What `parts` were taken from of a sample of which they were: its steps after own work changed for good. Nothing where that is all of it.
/// Held by: Calibrate.AfterAChangeTheLaterRegimeIsTaken
[[nodiscard]] std::optional<Sample> after_change(const Sample& sample, const Parts& parts);

}  // namespace cox::forecast
