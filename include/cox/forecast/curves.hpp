// SPDX-License-Identifier: Apache-2.0
/// \file
/// A table of sizes and values, continued: plain curves, how far each misses the largest size, and their spread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cox::forecast {

/// What a curve's values are.
enum class CurveValue : std::uint8_t { StepTime, Throughput };
/// A curve for z(N) = ranks / throughput, which is constant where scaling is ideal. Weak: the step; strong: ranks x step.
struct CurveModel {
  std::string name{};        ///< `constant`, `logarithm`, `power`, `linear (Amdahl)`, `USL`
  std::string formula{};     ///< with the coefficients, in the table's unit
  double misfit = 0;         ///< root mean square of relative errors, at the sizes given
  double held_out = 0;       ///< relative error at the largest size, fitted to the others
  bool has_held_out = true;  ///< false: too few sizes for that
  bool counts =
      true;  ///< in the band: its held-out error is what noise does, or not far beyond the best one's
};

/// One size.
struct CurvePrediction {
  std::int64_t size = 0;
  double value = 0;  ///< as in the table: seconds, or per second
  double low =
      0;  ///< spread of the models that count, each with its standard error, and their held-out error
  double high = 0;
  double throughput_ratio = 0;  ///< over that of the largest size given
  double elasticity = 0;        ///< d ln throughput / d ln size
  double elasticity_low = 0;    ///< the same over all curves that noise does not rule out
  double elasticity_high = 0;
  bool measured = false;           ///< a size of the table: its own mean
  std::vector<double> by_model{};  ///< as in `models`
  std::string refused{};           ///< why there is no number; empty = there is one
};

struct CurveForecast {
  CurveValue value = CurveValue::StepTime;
  std::int64_t largest = 0;  ///< size given
  std::int64_t sizes = 0;    ///< different ones
  std::vector<CurveModel> models{};
  std::vector<CurvePrediction> points{};
  std::vector<CurvePrediction> given{};  ///< the sizes of the table, ascending
  /// Of the curve that is forecast with, evenly in ln size from the smallest size given to the largest that has a number: as fitted at
  /// sizes that were measured, too. Empty where one size was given.
  std::vector<CurvePrediction> drawn{};
};

}  // namespace cox::forecast
