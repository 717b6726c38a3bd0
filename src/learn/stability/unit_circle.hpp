// SPDX-License-Identifier: Apache-2.0
/// \file
/// Points of the unit circle, and roots of polynomials, from + - * / and square root.
/// Held by: src/learn/stability/unit_circle_test.cpp
#pragma once

#include <complex>
#include <cstddef>
#include <vector>

namespace cox::learn {

inline constexpr double kPi = 3.14159265358979323846;

/// e^(it), |t| <= 100. Error: below 2e-14, most of it that of 2 pi.
[[nodiscard]] std::complex<double> unit(double t);
/// e^(2 pi i k / n), k = 0 ... n - 1.
[[nodiscard]] std::vector<std::complex<double>> units(std::size_t n);

/// Largest |root| of r^n + c[1] r^(n-1) + ... + c[n], by Ehrlich and Aberth's iteration. `c[0]` is 1.
[[nodiscard]] double largest_root(const std::vector<double>& c);

}  // namespace cox::learn
