// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sizes and values, and nothing of who waits for whom: curves, compared by how far each misses the largest size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/forecast/project.hpp"
#include "cox/forecast/sample.hpp"

namespace cox::forecast {

/// One curve through the table.
struct CurveModel {
  std::string name;
  double held_out =
      0;  ///< part by which the curve through the smaller sizes misses the largest; infinite = too few sizes
  bool possible = false;       ///< misses by no more than twice the best, or 2 %
  std::vector<double> values;  ///< at the sizes asked, in the table's unit
};

/// A value at a size, in the table's unit.
struct CurveBand {
  std::int64_t size = 0;
  double value = 0;  ///< of the curve that misses least
  double low = 0;    ///< least of all possible curves, less the error
  double high = 0;
  std::string refused;  ///< why it is no forecast; empty = it is one
};

struct CurveForecast {
  std::vector<CurveModel> models;  ///< best first
  std::vector<CurveBand> points;   ///< in the order asked
};

/// The curves at these sizes. Time of a step per part of the work, y, is fitted by least squares of relative errors:
/// constant; a + b ln N; a N^b; a + b N (Amdahl); a + b N + c N² (USL); coefficients of growth not below zero.
///
/// Formula: y = T (weak scaling), N T (strong), N / X (throughput). Error: twice what the best curve misses, or what repetitions
///          differ by, growing with ln(N / second largest size). Source: Amdahl 1967; Gunther 2007 (USL).
/// Errors:  forecast-012 (fewer than three sizes, a size or value that is not positive).
/// Held by: src/forecast/project/curve_test.cpp
[[nodiscard]] Result<CurveForecast> project(const Curve& curve, const std::vector<std::int64_t>& sizes,
                                            Scaling scaling = Scaling::Weak);

}  // namespace cox::forecast
