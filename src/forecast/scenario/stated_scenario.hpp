// SPDX-License-Identifier: Apache-2.0
/// \file
/// A job that is stated by terms, as a Scenario at its first size, and what it communicates at any.
#pragma once

#include "cox/base/result.hpp"
#include "cox/forecast/stated_job.hpp"
#include "cox/model/scenario.hpp"

#include "forecast/project/project.hpp"

namespace cox::forecast {

/// The job at `from` nodes: steps of training, each rank a replica that works, varies by `jitter` and meets all others in a sum that takes
/// as long as the terms of communication do there. Groups of sharding are in that time, not in the layout. It fails as is stated; how often
/// checkpoints are written is not. Pre: jitter > 0.
/// Held by: src/forecast/scenario/stated_scenario_test.cpp
[[nodiscard]] model::Scenario scenario_of(const StatedJob& stated);

/// The sum of its terms of communication, exactly.
/// Held by: src/forecast/scenario/stated_scenario_test.cpp
[[nodiscard]] RestAt rest_of(const StatedJob& stated);

}  // namespace cox::forecast
