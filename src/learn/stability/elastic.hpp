// SPDX-License-Identifier: Apache-2.0
/// \file
/// Elastic averaging (EASGD, EAMSGD; Zhang et al. 2015) with all workers in every round: exact for a quadratic.
///
///   x_i+ = x_i - step_i - r (x_i - c), c+ = c + p (mean x - c), r = p / N; `a` is rate times curvature, `b` a heavy ball's momentum.
///
/// Threads: functions without state. No elementary function of libm but the square root: the same bits everywhere.
#pragma once

#include <cstdint>
#include <span>

#include "learn/stability/local_rounds.hpp"

namespace cox::learn {

struct ElasticRound {
  std::int64_t workers = 1;
  double centre = 0.9;  ///< p: the part of the way to the workers' mean that the centre goes in a round
  double momentum = 0;  ///< b
};

/// Largest |root| of the two systems that a round has: workers among themselves, r^2 - (1 + b - a - r) r + b (1 - r); and their mean with
/// the centre. Below 1: stable. Held by: src/learn/stability/elastic_test.cpp
[[nodiscard]] double elastic_factor(const ElasticRound& round, double a);

/// Largest a that is stable. Formula: (1 + b) (2 - 2 r / (2 - p)); b = 0 is N r < (4 - 2 a - 2 r) / (2 - a), solved for a. Where a root
/// passes through -1; with p < 2 no other leaves the circle first (by test, not proved). Zero or less: nothing is stable, p is 2 N / (N + 1) or more.
[[nodiscard]] double elastic_edge(const ElasticRound& round);

/// Where the centre ends, with K local steps in a round: sum w_i b_i / sum w_i, w = D / (D + r), D = 1 - (1 - rate l_i)^K; the optimum of the
/// mean where curvatures are alike. Pre: somebody.
[[nodiscard]] double elastic_fixed_point(std::span<const LocalQuadratic> workers, double rate,
                                         std::int64_t local_steps, double centre);

}  // namespace cox::learn
