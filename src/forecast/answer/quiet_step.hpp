// SPDX-License-Identifier: Apache-2.0
/// \file
/// A step of a Scenario without noise, failures and start: what its ranks do, and what is left of it.
#pragma once

#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/forecast/parts.hpp"
#include "cox/model/scenario.hpp"

namespace cox::forecast {

/// Work of the ranks of one kind.
struct Work {
  std::string name;
  Seconds busy{};
};
struct StepWork {
  std::vector<Work> kinds;  ///< empty where the engine does not tell
  Pipeline pipeline{};
  Seconds rest{};  ///< of the step beside the longest work, or what a pipeline makes of it: communication
};

/// Errors: those of `simulate::simulate`. Cost: one simulated step; three of a collective job.
[[nodiscard]] Result<StepWork> quiet_step(const model::Scenario& scenario);

}  // namespace cox::forecast
