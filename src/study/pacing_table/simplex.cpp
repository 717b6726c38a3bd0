// SPDX-License-Identifier: Apache-2.0
#include "study/pacing_table/simplex.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace cox::study {
namespace {

constexpr std::size_t kDimensions = 4;

/// from + t (to - from).
Point between(const Point& from, const Point& to, double t) {
  Point out;
  for (std::size_t i = 0; i < kDimensions; ++i) out[i] = from[i] + t * (to[i] - from[i]);
  return out;
}

}  // namespace

Minimum find_minimum(const std::function<double(const Point&)>& f, const Point& start, double edge,
                     int rounds) {
  std::array<Minimum, kDimensions + 1> corner;
  for (std::size_t i = 0; i <= kDimensions; ++i) {
    corner[i].at = start;
    if (i > 0) corner[i].at[i - 1] += edge;
    corner[i].value = f(corner[i].at);
  }
  const auto by_value = [](const Minimum& a, const Minimum& b) { return a.value < b.value; };
  Minimum& worst = corner[kDimensions];
  for (int round = 0; round < rounds; ++round) {
    std::stable_sort(corner.begin(), corner.end(), by_value);
    Point centre{};
    for (std::size_t i = 0; i < kDimensions; ++i)
      for (std::size_t k = 0; k < kDimensions; ++k) centre[k] += corner[i].at[k] / kDimensions;
    const auto try_at = [&](double t) {
      const Point at = between(centre, worst.at, t);
      return Minimum{.at = at, .value = f(at)};
    };
    const Minimum reflected = try_at(-1);
    if (reflected.value < corner[0].value) {
      const Minimum expanded = try_at(-2);
      worst = expanded.value < reflected.value ? expanded : reflected;
    } else if (reflected.value < corner[kDimensions - 1].value) {
      worst = reflected;
    } else {
      const Minimum contracted = try_at(reflected.value < worst.value ? -0.5 : 0.5);
      if (contracted.value < std::min(reflected.value, worst.value)) {
        worst = contracted;
      } else {
        for (std::size_t i = 1; i <= kDimensions; ++i) {
          corner[i].at = between(corner[0].at, corner[i].at, 0.5);
          corner[i].value = f(corner[i].at);
        }
      }
    }
  }
  return *std::min_element(corner.begin(), corner.end(), by_value);
}

bool invert_diagonal(std::array<Point, 4> matrix, Point& diagonal) {
  double largest = 0;
  for (const Point& row : matrix)
    for (const double v : row) largest = std::max(largest, std::abs(v));
  std::array<Point, kDimensions> inverse{};
  for (std::size_t i = 0; i < kDimensions; ++i) inverse[i][i] = 1;
  for (std::size_t i = 0; i < kDimensions; ++i) {
    const double pivot = matrix[i][i];
    if (!(pivot > 1e-12 * largest)) return false;
    for (std::size_t k = 0; k < kDimensions; ++k) {
      matrix[i][k] /= pivot;
      inverse[i][k] /= pivot;
    }
    for (std::size_t row = 0; row < kDimensions; ++row) {
      const double factor = matrix[row][i];
      if (row == i) continue;
      for (std::size_t k = 0; k < kDimensions; ++k) {
        matrix[row][k] -= factor * matrix[i][k];
        inverse[row][k] -= factor * inverse[i][k];
      }
    }
  }
  for (std::size_t i = 0; i < kDimensions; ++i) diagonal[i] = inverse[i][i];
  return true;
}

}  // namespace cox::study
