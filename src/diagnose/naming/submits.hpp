// SPDX-License-Identifier: Apache-2.0
/// \file
/// Own work before each of the collectives that a step hands to a library's worker, where the program waits for all
/// of them at once (buckets of data-parallel training): parts of what it did before that wait.
#pragma once

#include <cstdint>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/model/collective.hpp"

#include "diagnose/match/matched.hpp"

namespace cox::diagnose {

/// Part of the steps that must be of one shape for their operations to be positions.
inline constexpr double kMostSteps = 0.75;

struct Submits {
  std::int32_t group = -1;               ///< of the collectives; its members are those of the waits
  std::vector<model::Collective> kinds;  ///< of a step's submits, in order; empty: there are none to tell
  /// Per submit of a step, [member x steps + step]: own work since the submit or the wait before it; kUnknown where the
  /// step is not like most.
  std::vector<std::vector<Duration>> work;
};

/// Of the waits of group `waits`, one per step. None where three in four steps of each member are not alike, where a
/// step has fewer than two submits, or more than 2^24 of all ranks would have to be kept.
///
/// Each is measured by its rank's clock alone. Cost: O(events). Held by: src/diagnose/naming/submits_test.cpp
[[nodiscard]] Submits submits_before(const Matched& matched, std::int32_t waits);

}  // namespace cox::diagnose
