// SPDX-License-Identifier: Apache-2.0
/// \file
/// exp, log and the normal distribution from + - * / and square root only.
///
/// Use when: a number that is printed depends on them. libm picks its variants by processor, so its last
/// digits differ from machine to machine; these are the same everywhere. Threads: safe. Held by:
/// src/base/elementary_test.cpp (errors against libm, all instruction sets)
#pragma once

#include <span>

namespace cox {

/// Each value to e^value; clamped to [-708, 709] first. Error: below 2 ulp.
void exponentials(std::span<double> values);
/// Each value to its natural logarithm. Domain: normal positive doubles. Error: below 2 ulp.
void logarithms(std::span<double> values);
/// Each value in (0, 1) to the standard normal's quantile. Error: below 1e-14 relative.
/// Source: Wichura 1988, AS 241.
void normal_quantiles(std::span<double> values);
/// Each value to the standard normal's distribution function; clamped to [-8.3, 8.3] first.
/// Error: below 1e-14 relative.
void normal_probabilities(std::span<double> values);

[[nodiscard]] double exponential(double x);
[[nodiscard]] double logarithm(double x);
/// x^y for x > 0. Error: below (2 + 2 |y log x|) ulp.
[[nodiscard]] double power(double x, double y);
/// The gamma function for x in (0, 171). Stirling's series from x >= 16 on, reached by the recurrence.
/// Error: below 1e-13 relative.
[[nodiscard]] double gamma_function(double x);

}  // namespace cox
