// SPDX-License-Identifier: Apache-2.0
/// \file
/// A step of a Scenario without noise of compute, failures and start: what its ranks do, and what is left of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/model/scenario.hpp"

#include "forecast/calibrate/parts.hpp"

namespace cox::forecast {

/// Work of the ranks of one kind.
struct Work {
  std::string name;
  Seconds busy{};
  std::int64_t ranks = 0;  ///< 0 = all
  Seconds undivided{};     ///< of it, in strong scaling; quiet_step leaves it at zero
};
struct StepWork {
  std::vector<Work> kinds;  ///< empty where the engine does not tell
  Pipeline pipeline{};
  TimeEstimate
      rest{};         ///< of the step beside the longest work, or what a pipeline makes of it: communication
  Seconds rest_sd{};  ///< of that, from step to step
  Seconds longest{};  ///< work of those that have most, or what a pipeline makes of it: `rest` is beside it
  std::int64_t evaluated = 0;  ///< as `simulate::Outcome` counts it: what a step costs
};

/// Messages and links that are disturbed: the mean of several steps, with its interval.
/// Errors: those of `simulate::simulate`. Cost: one simulated step; three of a collective job; 20 to 400 where messages are disturbed.
[[nodiscard]] Result<StepWork> quiet_step(const model::Scenario& scenario);

}  // namespace cox::forecast
