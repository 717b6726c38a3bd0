// SPDX-License-Identifier: Apache-2.0
/// \file
/// A job played for every seed, and what it is beside another one of the same seeds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "forecast/checkpoints/days.hpp"
#include "forecast/levers/levers.hpp"

namespace cox::forecast {

/// One seed.
struct PlayedSeed {
  double mean = 0;  ///< seconds, of the step
  double median = 0;
  double p95 = 0;
  double p99 = 0;
  double cv = 0;
  double rate = 0;    ///< samples per second of wall time
  double cost = 0;    ///< node seconds per sample
  double rework = 0;  ///< seconds per sample
  double energy = 0;  ///< joules per sample; 0 = not known
};

struct PlayedJob {
  std::vector<PlayedSeed> seeds;
  bool fails = false;
};

/// Steps of a seed, while nothing is down.
struct PlayedSteps {
  PlayedSeed figures{};  ///< of the step
  StepBudget step{};
};

/// Without failures and starts. Errors: those of `simulate`; forecast-034 where a policy's messages to servers share links and are too many.
[[nodiscard]] Result<std::vector<PlayedSteps>> play_steps(const model::Scenario& scenario,
                                                          const LeverOptions& options);
/// With what the scenario's failures and checkpoints leave of these steps. Errors: those of `days`.
[[nodiscard]] Result<PlayedJob> with_failures(const model::Scenario& scenario,
                                              const std::vector<PlayedSteps>& steps);

/// `job`, seed by seed, as `to` is beside `from`: figures times their ratio, and those of `to` where `from` has none.
[[nodiscard]] PlayedJob changed_as(PlayedJob job, const PlayedJob& from, const PlayedJob& to);

/// `job` beside `baseline`.
[[nodiscard]] LeverEffect effect_of(const PlayedJob& job, const PlayedJob& baseline);

}  // namespace cox::forecast
