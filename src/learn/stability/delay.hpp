// SPDX-License-Identifier: Apache-2.0
/// \file
/// What delays do to a step, beyond the edge of a constant one (cox/learn/stability.hpp). Exact for a quadratic; `a` is rate
/// times curvature, a pure number.
///
/// Threads: functions without state. No elementary function of libm but the square root: the same bits everywhere.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cox/learn/stability.hpp"

namespace cox::learn {

/// Largest |root| of r^(tau+2) - (1+b) r^(tau+1) + b r^tau + a r (Nesterov: a ((1+b) r - b)) = 0: factor per version.
/// Held by: src/learn/stability/delay_test.cpp
[[nodiscard]] double growth(const DelayedGradient& way, double a);
/// Variance of x over (rate sigma)^2 when gradients carry independent noise sigma: the mean over the unit circle of
/// |z - (1+b) + b/z + a z^-tau|^-2, by 2^16 points; without momentum or with the heavy ball.
/// Pre: a below the edge (asserted). Held by: src/learn/stability/delay_test.cpp (closed forms at tau 0 and 1)
[[nodiscard]] double stationary_variance(const DelayedGradient& way, double a);

/// A law of delays that are drawn independently for each update: probability of 0, 1, 2, ...
using DelayLaw = std::vector<double>;

/// Largest a for which the *mean* of x stays: the first a at which z - 1 + a sum p_k z^-k has a root on the unit circle.
[[nodiscard]] double mean_edge(const DelayLaw& law);
/// Largest a for which the mean *square* of x stays, which is less: with P(z) = sum p_k z^-k, where the mean over the unit
/// circle of a^2 (1 - |P|^2) / |z - 1 + a P|^2 becomes 1 (the noise that the draws make must not reproduce itself).
/// Above it averages over seeds may still converge. Held by: src/learn/stability/random_delay_test.cpp (covariances stepped)
[[nodiscard]] double mean_square_edge(const DelayLaw& law);

/// N workers whose steps take exponential times and who reuse no read: edge of the mean square, from the four moments of
/// x and of what two workers hold. The mean alone lasts to 4 N - 2.
/// Held by: src/learn/stability/random_delay_test.cpp
[[nodiscard]] double exponential_workers_edge(std::int64_t workers);

/// A step against what its ages allow.
struct StalenessAlarm {
  double limit = 0;     ///< largest rate times curvature for these ages
  double ratio = 0;     ///< of rate times curvature to it
  bool raised = false;  ///< ratio above a half: there the noise floor is about twice that of a fresh gradient
};
/// `ages`: how many updates had age 0, 1, 2, ... Without momentum the limit is the mean-square edge of delays that are
/// drawn from them; with momentum the edge of a constant delay of their mean, rounded up. An empty count raises nothing.
/// Held by: src/learn/stability/random_delay_test.cpp
[[nodiscard]] StalenessAlarm staleness_alarm(std::span<const std::int64_t> ages, double rate,
                                             double curvature, double momentum = 0);

}  // namespace cox::learn
