// SPDX-License-Identifier: Apache-2.0
/// \file
/// Fixed points and spread of local steps, exact for a quadratic; `a` is rate times curvature, a pure number.
///
/// Threads: functions without state. No elementary function of libm but the square root: the same bits everywhere.
#pragma once

#include <cstdint>
#include <span>

namespace cox::learn {

/// f(x) = curvature (x - optimum)^2 / 2 of one worker.
struct LocalQuadratic {
  double curvature = 1;
  double optimum = 0;
};

/// Where the mean of all is least: sum l b / sum l. SCAFFOLD ends here.
[[nodiscard]] double mean_optimum(std::span<const LocalQuadratic> workers);
/// How far the mean of all is above its least value at x.
[[nodiscard]] double mean_gap(std::span<const LocalQuadratic> workers, double x);
/// Where K local steps and a mean come to rest, whatever the outer rate and momentum: local SGD, FedAvg, DiLoCo.
/// sum m b / sum m, m = 1 - (1 - rate l)^K. Held by: src/learn/stability/local_rounds_test.cpp
[[nodiscard]] double local_fixed_point(std::span<const LocalQuadratic> workers, double rate,
                                       std::int64_t local_steps);
/// What a round leaves of the distance: mean of (1 - rate l)^K.
[[nodiscard]] double local_round_factor(std::span<const LocalQuadratic> workers, double rate,
                                        std::int64_t local_steps);
/// Where FedProx with exact local solutions comes to rest: sum w b / sum w, w = l / (l + pull).
[[nodiscard]] double fedprox_fixed_point(std::span<const LocalQuadratic> workers, double pull);
/// Variance over workers before their mean, equal curvatures, noise 1 in each gradient:
/// (1 - 1/N) rate^2 (1 - (1-a)^(2K)) / (1 - (1-a)^2).
[[nodiscard]] double local_spread(std::int64_t workers, double rate, double curvature,
                                  std::int64_t local_steps);
/// Factor per round of DiLoCo on a curvature that local steps shrink by q: largest |root| of
/// r^2 - (1 + mu)(1 - a') r + mu (1 - a'), a' = outer rate (1 - q).
[[nodiscard]] double diloco_factor(double outer_rate, double outer_momentum, double q);

}  // namespace cox::learn
