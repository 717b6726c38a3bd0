// SPDX-License-Identifier: Apache-2.0
/// \file
/// Functions that laws are made of, by + - * / and base's exponential and logarithm: the same on every machine.
#pragma once

#include "cox/base/elementary.hpp"

namespace cox::forecast {

/// exp(x) - 1 and ln(1 + x) without cancellation. Source: Kahan's quotients (HP-15C Advanced Functions Handbook, 1982).
/// Error: below 1e-14 relative. Held by: src/forecast/law/special_test.cpp, all
[[nodiscard]] double exponential_less_one(double x);
[[nodiscard]] double logarithm_of_one_plus(double x);

/// ln Gamma(x), x > 0. Source: Stirling's series from 16 on, reached by the recurrence. Error: below 1e-12 relative or absolute.
[[nodiscard]] double log_gamma(double x);

/// P(X > x) and P(X <= x) of the gamma law with this shape and scale 1; x >= 0.
/// Source: Abramowitz, Stegun 1964, 6.5.29 (series) and 6.5.31 (fraction). Error: below 1e-11 relative for shape <= 1e5.
[[nodiscard]] double gamma_above(double shape, double x);
[[nodiscard]] double gamma_below(double shape, double x);
/// The value exceeded with probability `above`, in (0, 1).
[[nodiscard]] double gamma_upper_quantile(double shape, double above);
/// Of the chi-square law with this freedom: 2 gamma(freedom / 2).
[[nodiscard]] double chi_square_upper_quantile(double freedom, double above);

/// P(X <= x) of the beta law. Source: Abramowitz, Stegun 1964, 26.5.8 (fraction). Error: below 1e-11 relative.
[[nodiscard]] double beta_below(double a, double b, double x);
[[nodiscard]] double beta_quantile(double a, double b, double below);

/// P(T > t) of Student's law with any freedom > 0, to full relative precision. Formula: I_{f/(f+t²)}(f/2, 1/2) / 2.
[[nodiscard]] double student_above(double freedom, double t);

}  // namespace cox::forecast
