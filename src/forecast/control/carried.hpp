// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which levers of training steps a calibrated Scenario can be asked: those that need no more than was seen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/model/collective.hpp"
#include "cox/model/scenario.hpp"

#include "forecast/levers/levers.hpp"

namespace cox::forecast {

/// What a Run told of its steps beside how long they take.
struct ToldSteps {
  int synchronisations = 1;                               ///< of a step, each a step of the Scenario
  std::int64_t roles = 1;                                 ///< kinds of ranks
  model::Collective meets_in = model::Collective::Other;  ///< Other = not known
  Bytes bytes{};                                          ///< of it; zero = not known
};

/// Why ranks of a Run are no workers of data parallelism, of which it is known what happens where they do not wait for all others in every
/// step; empty = they are. Held by: src/forecast/answer/part_control_test.cpp
[[nodiscard]] std::string why_no_workers(const ToldSteps& told);

/// Who waits for whom; those that do not apply too, with why. Layers, buckets, placement and cards are not in a Run, and what it tells of
/// ranks, links and failures changes its parts instead (`part_levers`). `training`: as `as_training` makes it. Where its sums run beside
/// work also faster links and compression, of which parts know what nothing hides alone.
/// Held by: src/forecast/answer/part_control_test.cpp
[[nodiscard]] std::vector<Lever> carried_levers(const model::Scenario& training, const ToldSteps& told);

}  // namespace cox::forecast
