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
#include "cox/simulate/outcome.hpp"

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

/// A step of a job of `steps`, by those that were simulated: their mean where they are all; else the mean of the later half, and what the first
/// half took beyond it as its part of all steps. 0 where there is none.
[[nodiscard]] Seconds mean_of_steps(const simulate::Outcome& outcome, std::int64_t steps);

/// Messages and links that are disturbed: the mean of several steps, with its interval.
/// Errors: those of `simulate::simulate`. Cost: three simulated steps; 20 to 400 where messages are
/// disturbed, fewer where these take two seconds; all of the job's where links are shared and steps still differ, a second at most.
[[nodiscard]] Result<StepWork> quiet_step(const model::Scenario& scenario);

}  // namespace cox::forecast
