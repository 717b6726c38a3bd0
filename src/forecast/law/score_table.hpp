// SPDX-License-Identifier: Apache-2.0
/// \file
/// A distribution function as a table of y = ln(-ln G): nearly straight, and a power n of G adds ln n.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "forecast/law/law.hpp"

namespace cox::forecast {

inline constexpr double kMostScore = 3.7;  ///< of y: ln 40, G = 4e-18

/// Ascending in x, descending in y; two points with one x are a jump. Times in seconds.
class ScoreTable {
 public:
  /// Where G is to be right: y from ln 40 (G = 4e-18) down to `least`.
  /// Formula: F(x)^power at `points` places that are even in y. Cost: one quantile a point.
  ScoreTable(const Law& law, double power, double least, int points);
  /// Of what is at `x` (ascending), with -ln G = `minus_log` there.
  ScoreTable(std::vector<double> x, std::span<const double> minus_log);

  /// -ln G at ascending places less `shift`. Below the table 1e3, above it continued straight in y.
  void minus_log(std::span<const double> ascending, double shift, std::span<double> out) const;
  [[nodiscard]] double score(double x) const;
  /// In the middle between point `left` and the next.
  [[nodiscard]] double middle(std::size_t left) const;
  /// Where y is passed.
  [[nodiscard]] double place(double y) const;
  /// The same for many, by straight lines: good enough to say where a table is to have points.
  void add_places(std::span<const double> descending, std::span<double> out) const;
  /// dy/dx at the last point and beyond.
  [[nodiscard]] double steepness() const { return steepness_; }
  [[nodiscard]] std::span<const double> x() const { return x_; }
  /// Places at which a stretch without times begins or ends: a sum has points about them.
  [[nodiscard]] std::span<const double> breaks() const { return breaks_; }
  void keep_breaks(std::span<const double> breaks) { breaks_.assign(breaks.begin(), breaks.end()); }
  [[nodiscard]] std::span<const double> y() const { return y_; }
  void move(double by) {
    for (double& x : x_) x += by;
    for (double& x : breaks_) x += by;
  }
  void raise(double log_count) {
    for (double& y : y_) y += log_count;
  }

 private:
  /// y = y_left + d (first + d (second + d third)), d = x - x_left.
  struct Cubic {
    double first = 0;
    double second = 0;
    double third = 0;
  };
  void curve();
  [[nodiscard]] double within(std::size_t left, double x) const;

  std::vector<double> x_;
  std::vector<double> y_;
  std::vector<double> breaks_;
  std::vector<Cubic> cubics_;  // right of each point
  double steepness_ = 0;       // dy/dx at the end
};

}  // namespace cox::forecast
