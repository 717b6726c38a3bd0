// SPDX-License-Identifier: Apache-2.0
#include "learn/stability/unit_circle.hpp"

#include <algorithm>
#include <cmath>

namespace cox::learn {
namespace {

using Complex = std::complex<double>;

// Without what std::complex does for infinities: plain products.
Complex times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
double square(Complex a) {
  return a.real() * a.real() + a.imag() * a.imag();
}
Complex inverse(Complex a) {
  const double s = square(a);
  return {a.real() / s, -a.imag() / s};
}

struct Value {
  Complex p;
  Complex slope;
};
Value value_at(const std::vector<double>& c, Complex r) {
  Value v{c.front(), 0.0};
  for (std::size_t i = 1; i < c.size(); ++i) {
    v.slope = times(v.slope, r) + v.p;
    v.p = times(v.p, r) + c[i];
  }
  return v;
}

}  // namespace

std::complex<double> unit(double t) {
  constexpr int kHalvings = 5;
  const double turns = std::nearbyint(t / (2 * kPi));
  const double u = (t - turns * 2 * kPi) / (1 << kHalvings);  // below 0.1
  const double s = u * u;
  double cosine_less_one = 0;  // squared as 1 + this: nothing is lost beside 1
  double sine = 0;
  for (int k = 8; k >= 1; --k) {
    cosine_less_one = -s / ((2 * k - 1) * (2 * k)) * (1 + cosine_less_one);
    sine = -s / ((2 * k) * (2 * k + 1)) * (1 + sine);
  }
  sine = u * (1 + sine);
  for (int k = 0; k < kHalvings; ++k) {
    const double doubled = -2 * sine * sine;
    sine = 2 * sine * (1 + cosine_less_one);
    cosine_less_one = doubled;
  }
  return {1 + cosine_less_one, sine};
}

std::vector<Complex> units(std::size_t n) {
  std::vector<Complex> z(n);
  for (std::size_t k = 0; k < n; ++k) z[k] = unit(2 * kPi * static_cast<double>(k) / static_cast<double>(n));
  return z;
}

double largest_root(const std::vector<double>& c) {
  const std::size_t n = c.size() - 1;
  double radius = 0;
  for (std::size_t i = 1; i <= n; ++i) radius = std::max(radius, std::abs(c[i]));
  std::vector<Complex> roots(n);
  for (std::size_t k = 0; k < n; ++k)
    roots[k] =
        std::min(1 + radius, 1.2) * unit(2 * kPi * static_cast<double>(k) / static_cast<double>(n) + 0.3);
  for (int iteration = 0; iteration < 500; ++iteration) {
    double moved = 0;
    for (std::size_t k = 0; k < n; ++k) {
      const Value v = value_at(c, roots[k]);
      if (square(v.p) == 0) continue;
      Complex repulsion = 0;
      for (std::size_t j = 0; j < n; ++j)
        if (j != k && square(roots[k] - roots[j]) > 0) repulsion += inverse(roots[k] - roots[j]);
      const Complex step = inverse(times(v.slope, inverse(v.p)) - repulsion);
      roots[k] -= step;
      moved = std::max(moved, square(step));
    }
    if (moved < 1e-30) break;
  }
  double largest = 0;
  for (const Complex& r : roots) largest = std::max(largest, square(r));
  return std::sqrt(largest);
}

}  // namespace cox::learn
