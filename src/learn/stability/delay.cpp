// SPDX-License-Identifier: Apache-2.0
#include "learn/stability/delay.hpp"

#include <cmath>

#include "cox/base/assert.hpp"

#include "learn/stability/unit_circle.hpp"

namespace cox::learn {
namespace {

using Complex = std::complex<double>;

/// Zero where a is real: the cosine of the phase at e^(it), of which the first root is the edge.
double phase(const DelayedGradient& way, double t) {
  const double b = way.momentum;
  const double w = (static_cast<double>(way.delay) + 0.5) * t;
  if (way.kind == MomentumKind::HeavyBall) return unit(w).real() - b * unit(w - t).real();
  return (1 + b + b * b) * unit(w).real() - b * unit(w + t).real() - b * (1 + b) * unit(w - t).real();
}

}  // namespace

double stable_edge(const DelayedGradient& way) {
  COX_ASSERT(way.delay >= 0 && way.momentum >= 0 && way.momentum < 1, "a delay and a momentum");
  const double step = kPi / (64 * (2 * static_cast<double>(way.delay) + 1));
  double low = 0;
  double high = step;
  while (high < kPi && phase(way, high) > 0) {
    low = high;
    high += step;
  }
  high = std::min(high, kPi);
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (phase(way, middle) > 0 ? low : high) = middle;
  }
  const Complex z = unit(high);
  const double b = way.momentum;
  const double a = 2 * unit(high / 2).imag() * std::sqrt(1 - 2 * b * z.real() + b * b);
  if (way.kind == MomentumKind::HeavyBall) return a;
  return a / std::sqrt((1 + b) * (1 + b) - 2 * b * (1 + b) * z.real() + b * b);
}

double growth(const DelayedGradient& way, double a) {
  const auto tau = static_cast<std::size_t>(way.delay);
  const double b = way.momentum;
  std::vector<double> c(tau + 3);
  c[0] = 1;
  c[1] -= 1 + b;
  c[2] += b;
  if (way.kind == MomentumKind::HeavyBall) {
    c[1 + tau] += a;
  } else {
    c[1 + tau] += a * (1 + b);
    c[2 + tau] -= a * b;
  }
  return largest_root(c);
}

double stationary_variance(const DelayedGradient& way, double a) {
  COX_ASSERT(way.kind == MomentumKind::HeavyBall && a > 0 && a < stable_edge(way), "a stable heavy ball");
  constexpr std::size_t kPoints = 1 << 16;
  static const std::vector<Complex> all_units = units(kPoints);
  const double b = way.momentum;
  double sum = 0;
  for (std::size_t k = 0; k < kPoints; ++k) {
    const Complex z = all_units[k];
    const Complex back = std::conj(all_units[k * static_cast<std::size_t>(way.delay) % kPoints]);
    const Complex p = z - (1 + b) + b * std::conj(z) + a * back;
    sum += 1 / (p.real() * p.real() + p.imag() * p.imag());
  }
  return sum / kPoints;
}

}  // namespace cox::learn
