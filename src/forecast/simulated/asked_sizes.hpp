// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sizes that are asked for, each simulated itself; and how sure a value is between sizes that were simulated.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/forecast/project.hpp"
#include "cox/model/scenario.hpp"

#include "forecast/calibrate/parts.hpp"
#include "forecast/project/project.hpp"
#include "forecast/scenario/scenario_parts.hpp"
#include "forecast/simulated/simulated_sizes.hpp"

namespace cox::forecast {

/// What came of the sizes asked.
struct SimulatedAsked {
  std::vector<CheckedSize> sizes{};  ///< ascending, `by_parts` and `forecast` left empty
  std::vector<NotSimulated> left{};  ///< ascending
};

/// Those of `asked` that are not in `known` and hold whole replicas, the cheapest first, while they take no more than `events` in all; and, where one of them is left
/// out, sizes beside it: whole replicas below and above it, else the two largest of the scenario's own times powers of two that are cheap, a factor of four
/// apart. Up to 4,096 ranks 8 replicas of as many steps as `simulate_sizes` plays, beyond as `simulate_far_sizes`; where messages share links or are
/// disturbed, or that is too much, as often as a part of a second pays for (`SimulationBudget`). What is simulated at a size is the same whatever else is asked.
/// Errors: none; what `simulate` refuses is in `left`. Cost: `events` (budget.hpp). Threads: same result for any number.
/// Held by: src/forecast/simulated/asked_sizes_test.cpp
[[nodiscard]] SimulatedAsked simulate_asked_sizes(const model::Scenario& scenario, Scaling scaling,
                                                  const std::vector<std::int64_t>& asked,
                                                  const CheckedSizes& known, double events, int threads);

/// `around`, and at sizes asked what they are simulated to take over that: ln of it is a monotone cubic through them and the sizes that others follow, level
/// beyond all. Sizes less than half a doubling apart count as one, and those that others follow stay. What noise and half a per cent allow is none.
/// Held by: src/forecast/simulated/asked_sizes_test.cpp
[[nodiscard]] OverPartsAt over_parts_asked(OverPartsAt around, const CheckedSizes& simulated);

/// The forecast at a size that was simulated itself: communication is that of this size, without noise; where the step differs from
/// what parts and the sizes around it say by more than its interval and half a per cent, it is the one simulated. Bands hold its interval.
/// Fills `by_parts`, `as_others` and `forecast`; of steps that are fresh (`steps_are_fresh`) `spread`, against that. Held by: src/forecast/simulated/asked_sizes_test.cpp
[[nodiscard]] SizePoint point_of_asked(CheckedSize& size, const Parts& parts, const RestOfScenario& rest,
                                       ProjectOptions options, bool steps_are_fresh);

/// How far, as a part of the step, a value between simulated sizes or below them may be off, nine times of ten: each size but the ends
/// is left out and predicted from its neighbours; what it misses by beyond its noise is taken as a walk in the logarithm of ranks.
///
/// Formula: ln of simulated over parts moves by variance v for an e-fold of ranks; between a and b it is known but for
///          v (x - a)(b - x) / (b - a), below the first but for v times the distance. v is the mean of squared misses over that; of two
///          sizes, of their difference. Ends: Student's t of as many degrees of freedom as there are misses.
/// 0 at a size that was simulated, beyond the last (`widen` has a rule for it), and where there is one alone. Sizes less than half a doubling apart tell no v. Held by: src/forecast/simulated/asked_sizes_test.cpp
[[nodiscard]] double between_sizes(std::span<const CheckedSize> sizes, std::int64_t ranks);

/// Where steps of weak scaling get shorter with the ranks, by more than half a per cent: by what, and whether both sizes were
/// simulated. Held by: src/forecast/simulated/asked_sizes_test.cpp
[[nodiscard]] std::vector<std::string> shorter_steps(const Projection& projection,
                                                     const CheckedSizes& simulated);

}  // namespace cox::forecast
