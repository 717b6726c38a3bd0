// SPDX-License-Identifier: Apache-2.0
/// \file
/// Who sets the pace and what is left of a delay, from laws instead of counts: without the bias that few steps give.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cox/base/units.hpp"

#include "forecast/law/law.hpp"

namespace cox::forecast {

/// Each one's chance of being the last of independent times: how the mean of the slowest follows its own mean,
/// dE[max] / d mean_i. Adds up to 1.
/// Formula: integral of f_i product over j != i of F_j. Laws with steps (constants, detours) share their ties evenly, as far
/// as a smoothing by 1e-6 of all spread does. Error: 1e-6. Cost: laws^2 x 600. Pre: at least one (asserted).
/// Held by: src/forecast/structure/criticality_test.cpp
[[nodiscard]] std::vector<double> criticality_of(std::span<const Law> laws);

/// How densely two of them come last together, per second: -d2 E[max] / d mean_i d mean_j, the coupling of a pair.
/// Formula: integral of f_i f_j product over the others of F. Error: 1e-4 relative, for laws with a smooth density.
/// Pre: i != j (asserted). Held by: src/forecast/structure/criticality_test.cpp
struct PairCoupling {
  double per_second = 0;
};
[[nodiscard]] PairCoupling coupling_of(std::span<const Law> laws, std::size_t i, std::size_t j);

/// What is left at a barrier of `ranks` of a delay that hits one of them: D_0 / d.
/// Formula: integral of F(x)^N - F(x - d) F(x)^(N - 1), over d. Ranks are independent: what a node shares makes it a little
/// larger. Error: 1e-4. Cost: 0.2 ms. Pre: delay > 0, ranks >= 1 (asserted).
/// Held by: src/forecast/structure/criticality_test.cpp
[[nodiscard]] double kept_at_barrier(const Law& own, std::int64_t ranks, Seconds delay);

}  // namespace cox::forecast
