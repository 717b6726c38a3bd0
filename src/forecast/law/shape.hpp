// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a law is inside: a standard variable Z, of which the law is shift + scale Z.
#pragma once

#include <memory>
#include <vector>

#include "forecast/law/law.hpp"

namespace cox::forecast {

class ScoreTable;

class LawShape {
 public:
  virtual ~LawShape() = default;
  [[nodiscard]] virtual double above(double z) const = 0;
  [[nodiscard]] virtual double below(double z) const = 0;
  [[nodiscard]] virtual double quantile(double p) const = 0;        ///< p in [0, 1]
  [[nodiscard]] virtual double upper_quantile(double p) const = 0;  ///< p in [0, 1]
  [[nodiscard]] virtual double mean() const = 0;
  [[nodiscard]] virtual double deviation() const = 0;
  /// A discrete law's values, ascending; empty for all others.
  [[nodiscard]] virtual std::vector<Law::Point> atoms() const { return {}; }
  /// Ascending: between two of them nothing may lie.
  [[nodiscard]] virtual std::vector<double> breaks() const { return {}; }
};

namespace shapes {
using Pointer = std::shared_ptr<const LawShape>;
[[nodiscard]] Pointer normal();
[[nodiscard]] Pointer lognormal(double sigma);
[[nodiscard]] Pointer memoryless();
[[nodiscard]] Pointer pareto(double shape);
[[nodiscard]] Pointer weibull(double shape);
[[nodiscard]] Pointer student(double freedom);
[[nodiscard]] Pointer logistic();
/// Mean 0, deviation 1.
[[nodiscard]] Pointer standard_gamma(double skewness);
[[nodiscard]] Pointer detour(double probability);
[[nodiscard]] Pointer quantiles(std::vector<double> body, const Tail& tail);
/// In seconds. Source of the numbers: Law::modes.
[[nodiscard]] Pointer modes(const Law& usual, const Law& longer, double share);
/// In seconds, with moments that the table's range need not tell. Above the table it goes on straight in y: exponential.
[[nodiscard]] Pointer tabled(ScoreTable table, double mean, double deviation);
}  // namespace shapes

}  // namespace cox::forecast
