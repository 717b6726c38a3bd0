// SPDX-License-Identifier: Apache-2.0
/// \file
/// A law from what was measured: quantiles, and a generalised Pareto tail above the last of them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"

namespace cox::simulate {

/// Quantiles at even steps of probability from 0 to 1 - p, a straight line between two; above the last, u, with
/// probability p, u + (sigma / xi) (v^-xi - 1), v uniform (sigma (-log v) where xi is 0): continuous at u.
/// Held by: src/simulate/noise/quantile_law_test.cpp
class QuantileLaw {
 public:
  struct Tail {
    double probability = 0;  ///< p
    double scale = 0;        ///< sigma
    double shape = 0;        ///< xi, below 1
  };
  /// Pre: at least two quantiles, ascending; p in [0, 1).
  QuantileLaw(std::vector<double> quantiles, Tail tail);
  /// Of the whole law. Formula: (1 - p) times the mean of the straight lines, and p (u + sigma / (1 - xi)).
  [[nodiscard]] double mean() const;
  /// Each value u in (0, 1) to its quantile.
  void values(std::span<double> u) const;

 private:
  [[nodiscard]] double value(double u) const;
  std::vector<double> quantiles_;
  Tail tail_;
};

/// One number a line; empty lines and those that begin with `#` are left out. `name` is for messages.
/// Errors: simulate-002 with the line (no number, fewer than two, not ascending, more than 1,000,000).
[[nodiscard]] Result<std::vector<double>> parse_quantiles(std::string_view text, const std::string& name);

}  // namespace cox::simulate
