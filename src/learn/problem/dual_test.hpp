// SPDX-License-Identifier: Apache-2.0
/// \file
/// Numbers that carry a derivative: a loss written once as a template gives its value and its exact slope.
/// Source: Clifford 1873; forward differentiation, Wengert 1964.
#pragma once

#include <cmath>

namespace cox::learn {

struct Dual {
  double value = 0;
  double slope = 0;
  Dual() = default;
  Dual(double v, double s = 0) : value(v), slope(s) {}  // NOLINT: numbers are duals

  friend Dual operator+(Dual a, Dual b) { return {a.value + b.value, a.slope + b.slope}; }
  friend Dual operator-(Dual a, Dual b) { return {a.value - b.value, a.slope - b.slope}; }
  friend Dual operator*(Dual a, Dual b) { return {a.value * b.value, a.slope * b.value + a.value * b.slope}; }
  friend Dual operator/(Dual a, Dual b) {
    return {a.value / b.value, (a.slope * b.value - a.value * b.slope) / (b.value * b.value)};
  }
  Dual& operator+=(Dual o) { return *this = *this + o; }
  friend bool operator<(Dual a, Dual b) { return a.value < b.value; }
  friend Dual exp(Dual a) { return {std::exp(a.value), std::exp(a.value) * a.slope}; }
  friend Dual log(Dual a) { return {std::log(a.value), a.slope / a.value}; }
  friend Dual sqrt(Dual a) { return {std::sqrt(a.value), a.slope / (2 * std::sqrt(a.value))}; }
};

/// log sum e^z - z_label.
template <class T>
T cross_entropy_of(const T* z, std::size_t classes, std::size_t label) {
  using std::exp;
  using std::log;
  T sum = 0;
  for (std::size_t c = 0; c < classes; ++c) sum += exp(z[c] - z[label]);
  return log(sum);
}

}  // namespace cox::learn
