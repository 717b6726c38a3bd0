// SPDX-License-Identifier: Apache-2.0
/// \file
/// What becomes of a delay that is injected once: the scenario beside its twin without it, on the same draws.
#pragma once

#include <cstdint>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/model/scenario.hpp"
#include "cox/simulate/outcome.hpp"
#include "cox/simulate/spread.hpp"

namespace cox::simulate {

/// How much later each step ends. A barrier keeps what the slack of the delayed rank does not take, in every step that
/// follows; where something is shared, more than the delay may come out.
struct KeptDelay {
  Seconds delay{};                ///< d: of each rank that it hits
  std::int64_t step = 0;          ///< in which it is injected
  std::vector<ReplicaSpread> by;  ///< D_k over replicas, k = `step`, `step` + 1, ...
  std::vector<Seconds>
      ranks;  ///< first replica: how much later each rank ends the last step, where that is known
};

/// The scenario, and the same with its source of pattern `once` switched off, seed by seed.
/// Errors: those of simulate; simulate-003 where not exactly one source on compute is injected once as a time.
/// Held by: src/simulate/attribution/delay_test.cpp
[[nodiscard]] Result<KeptDelay> follow_delay(const model::Scenario& scenario, const SimulateOptions& options);

}  // namespace cox::simulate
