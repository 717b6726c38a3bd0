// SPDX-License-Identifier: Apache-2.0
/// \file
/// How far a job is from a boundary, found.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "cox/forecast/margin.hpp"

namespace cox::forecast {

/// A parameter that may change: ranks, jitter, tail index, bandwidth, failure rate, drift.
struct MarginParameter {
  std::string name{};
  double error = 0;     ///< ln(high / low) / 2 of its own 90 % interval; 0 = not known
  double most = 1'000;  ///< factors beyond it, and below 1 / it, are not looked at
  bool worst = true;    ///< takes part in the worst combination; a size that one chooses does not
  bool one_way =
      false;  ///< more of it leads on and less of it back: a job's size, of which nobody asks the other side
};

/// eps with each parameter times its factor; all 1 = as it is. Pure.
using ElasticityWith = std::function<double(std::span<const double> factors)>;

/// Alone: by steps in ln factor, then bisection, on both sides of 1. Together: the point of the surface nearest to the
/// origin in ln factors, by Hasofer-Lind steps (Rackwitz, Fiessler 1978) with halving, from each parameter's own crossing
/// and from the origin. `replicates`: eps with the job's parameters drawn again; none = no band (`banded`).
/// Source: docs/concepts/structure.md. Errors: none; what does not cross is said. Pre: 1 to 12 parameters (asserted).
/// Cost: 80 calls a parameter and replicate, 30 x parameters^2 for the worst combination.
/// Held by: src/forecast/regimes/margin_test.cpp
[[nodiscard]] Margins margins_of(std::span<const MarginParameter> parameters,
                                 const ElasticityWith& elasticity, double level,
                                 std::span<const ElasticityWith> replicates = {});

/// How far another job with the same parameters is from that level by the nearest of them alone, as a factor of at least 1; 1 = it is below
/// the level, infinite = none crosses. Looked for in the order of `found`, the job as it is estimated, each no further than the nearest
/// so far; those that cross nowhere in it not beyond another one. Cost: 15 calls, and 4 a parameter.
/// Held by: src/forecast/regimes/margin_test.cpp
[[nodiscard]] double nearest_like(const Margins& found, std::span<const MarginParameter> parameters,
                                  const ElasticityWith& elasticity);

}  // namespace cox::forecast
