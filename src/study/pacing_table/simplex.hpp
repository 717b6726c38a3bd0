// SPDX-License-Identifier: Apache-2.0
/// \file
/// The least of a function of four numbers.
#pragma once

#include <array>
#include <functional>

namespace cox::study {

using Point = std::array<double, 4>;

struct Minimum {
  Point at{};
  double value = 0;
};

/// Nelder and Mead's simplex (1965) from `start` with edges `edge`, a fixed number of rounds, so the same on
/// every machine: ours, not NLopt's, whose digits are those of its version. Reflection 1, expansion 2,
/// contraction 1/2, shrinking 1/2. Held by: src/study/pacing_table/pacing_table_test.cpp
[[nodiscard]] Minimum find_minimum(const std::function<double(const Point&)>& f, const Point& start,
                                   double edge, int rounds);

/// Diagonal of the inverse of a symmetric matrix; false where it is singular to 1e-12 of its largest entry
/// (Gauss and Jordan, pivots on the diagonal).
[[nodiscard]] bool invert_diagonal(std::array<Point, 4> matrix, Point& diagonal);

}  // namespace cox::study
