// SPDX-License-Identifier: Apache-2.0
/// \file
/// How steps of one size vary, simulated beside forecast.
#pragma once

#include <optional>

#include "cox/base/quantile_sketch.hpp"
#include "cox/forecast/project.hpp"
#include "cox/model/scenario.hpp"

namespace cox::forecast {

/// Of the steps that were simulated over what is forecast: the value, and where it lies by so many steps (90 %).
struct SimulatedOver {
  double value = 1;
  double low = 1;
  double high = 1;
};

/// How steps vary, simulated over forecast.
struct SpreadRatios {
  SimulatedOver median{};
  SimulatedOver p95{};
  SimulatedOver p99{};
  double cv = 1;
  double cv_beside = 0;  ///< added: of steps that are forecast to be alike
};

/// Whether its steps are as good as independent, so that they can be counted.
[[nodiscard]] bool steps_are_fresh(const model::Scenario& scenario);

/// Standard deviation over mean of so many steps.
[[nodiscard]] double cv_of(const QuantileSketch& lengths);

/// `whole`: they are all steps of the job, so their quantiles are its own however few they are; of which chance draws none (`still`) exactly.
/// Else where at least 100 steps have another median, 95th or 99th percentile than forecast, by the places of the binomial (99.5 %) and more than
/// half a per cent; else nothing. Held by: src/forecast/simulated/simulated_sizes_test.cpp
[[nodiscard]] std::optional<SpreadRatios> spread_of(const QuantileSketch& lengths, const SizePoint& forecast,
                                                    bool whole = false, bool still = false);

/// A part of the way from one size to another, in bands that hold both; at an end its own.
[[nodiscard]] SpreadRatios between(const SpreadRatios& from, const SpreadRatios& to, double part);

/// Quantiles and CV become those that were simulated.
void vary_as(SizePoint& point, const SpreadRatios& by);

}  // namespace cox::forecast
