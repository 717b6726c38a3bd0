// SPDX-License-Identifier: Apache-2.0
/// \file
/// A smooth curve through a few points.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace cox::forecast {

/// A curve through points, without bends that they do not have: cubic pieces whose slopes are harmonic means.
/// Source: Fritsch, Butland (1984). Held by: src/forecast/law/monotone_cubic_test.cpp
class MonotoneCubic {
 public:
  enum class Ends : std::uint8_t {
    GoOn,   ///< straight, as steep as the last stretch
    Level,  ///< the value at the end
  };
  /// `x` ascending, at least one; of one point the curve is level.
  MonotoneCubic(std::vector<double> x, std::vector<double> y, Ends ends = Ends::GoOn)
      : x_(std::move(x)), y_(std::move(y)) {
    const std::size_t n = x_.size();
    slope_.assign(n, 0.0);
    if (n < 2) return;
    std::vector<double> d(n - 1);
    for (std::size_t i = 0; i + 1 < n; ++i) d[i] = (y_[i + 1] - y_[i]) / (x_[i + 1] - x_[i]);
    if (ends == Ends::GoOn) {
      slope_.front() = d.front();
      slope_.back() = d.back();
    }
    for (std::size_t i = 1; i + 1 < n; ++i) {
      if (d[i - 1] * d[i] <= 0) continue;
      const double left = x_[i] - x_[i - 1];
      const double right = x_[i + 1] - x_[i];
      slope_[i] = 3 * (left + right) / ((2 * right + left) / d[i - 1] + (right + 2 * left) / d[i]);
    }
  }
  struct Value {
    double y = 0;
    double slope = 0;
  };
  [[nodiscard]] Value at(double x) const {
    if (x <= x_.front()) return {y_.front() + slope_.front() * (x - x_.front()), slope_.front()};
    if (x >= x_.back()) return {y_.back() + slope_.back() * (x - x_.back()), slope_.back()};
    const auto i = static_cast<std::size_t>(std::ranges::upper_bound(x_, x) - x_.begin()) - 1;
    const double h = x_[i + 1] - x_[i];
    const double t = (x - x_[i]) / h;
    const double a = slope_[i] * h;
    const double b = slope_[i + 1] * h;
    const double rise = y_[i + 1] - y_[i];
    const double c2 = 3 * rise - 2 * a - b;
    const double c3 = a + b - 2 * rise;
    return {y_[i] + t * (a + t * (c2 + t * c3)), (a + t * (2 * c2 + 3 * t * c3)) / h};
  }

 private:
  std::vector<double> x_;
  std::vector<double> y_;
  std::vector<double> slope_;
};

}  // namespace cox::forecast
