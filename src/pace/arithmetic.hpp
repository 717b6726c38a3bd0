// SPDX-License-Identifier: Apache-2.0
/// \file
/// Arithmetic of the controller without libm. Private to src/pace; guest code.
#pragma once

#include <cstdint>

#include "cox/base/units.hpp"

namespace cox::pace {

[[nodiscard]] inline double to_ns(Duration d) noexcept {
  return static_cast<double>(d.count()) * 1e-3;
}
/// Saturates at 1e15 ns (11 days).
[[nodiscard]] inline Duration from_ns(double ns) noexcept {
  const double bounded = ns > 1e15 ? 1e15 : (ns < -1e15 ? -1e15 : ns);
  return Duration{static_cast<std::int64_t>(bounded * 1e3)};
}
/// 0 for what is not positive. One instruction: built with -fno-math-errno.
[[nodiscard]] inline double square_root(double x) noexcept {
  return x > 0 ? __builtin_sqrt(x) : 0;
}
/// Natural logarithm of a positive number. Formula: halvings to [0.75, 1.5), then 2 atanh((x - 1) / (x + 1))
/// as a series. Error: below 1e-9. Held by: src/pace/slack_test.cpp
[[nodiscard]] inline double natural_log(double x) noexcept {
  constexpr double kLn2 = 0.69314718055994530942;
  double halvings = 0;
  for (; x >= 1.5; x /= 2) ++halvings;
  for (; x < 0.75; x *= 2) --halvings;
  const double t = (x - 1) / (x + 1);
  double sum = 0;
  double power = t;
  for (int k = 1; k <= 15; k += 2, power *= t * t) sum += power / k;
  return 2 * sum + halvings * kLn2;
}

/// The largest of n standard normals, its expectation; 0 for one. Error: below 0.02.
/// Formula: the normal quantile at (n - 3/8) / (n + 1/4) (Blom 1958), by Abramowitz, Stegun 1964, 26.2.23.
/// Held by: src/pace/slack_test.cpp (known values)
[[nodiscard]] inline double expected_maximum(std::uint32_t n) noexcept {
  if (n < 2) return 0;
  const double tail = 0.625 / (n + 0.25);
  const double t = square_root(-2 * natural_log(tail));
  return t -
         (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

}  // namespace cox::pace
