// SPDX-License-Identifier: Apache-2.0
/// \file
/// A scenario at several sizes, by the engines: the second way beside quadrature, and the one for what quadrature has no
/// formula for.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/quantile_sketch.hpp"
#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/forecast/project.hpp"
#include "cox/forecast/scaling_job.hpp"
#include "cox/model/scenario.hpp"
#include "cox/simulate/outcome.hpp"

#include "forecast/checkpoints/days.hpp"

namespace cox::forecast {

/// The scenario at another number of nodes.
using ScenarioAt = std::function<Result<model::Scenario>(std::int64_t nodes)>;

struct SimulatedScalingOptions {
  std::vector<std::int64_t> nodes{};  ///< ascending, at least two
  BatchRule batch = BatchRule::Grows;
  int steps = 0;           ///< of each simulation; 0 = the scenario's
  int replicates = 100;    ///< drawn from the scenario's replicas, for bands; one replica gives none
  bool mechanisms = true;  ///< false: each size as it is alone, and `job` has no mechanisms of the step
  int threads = 0;
};

/// What was simulated at one size: with everything on.
struct SimulatedSize {
  std::int64_t ranks = 0;
  Seconds step{};                        ///< mean over replicas, without failures
  Seconds half_width{};                  ///< of 95 %; zero for one replica
  double goodput = 1;                    ///< by formula
  QuantileSketch lengths{};              ///< of the steps of all replicas, in seconds
  std::optional<StepParts> goes_into{};  ///< mean over replicas; empty where the engine does not tell
};

/// Mean over ranks of what a step goes into, per step; empty where the engine does not tell.
[[nodiscard]] std::optional<StepParts> step_parts_of(const simulate::Outcome& outcome);
/// The mean of several; empty where one of them is.
[[nodiscard]] std::optional<StepParts> mean_parts(const std::vector<std::optional<StepParts>>& parts);

struct SimulatedScaling {
  ScalingJob
      job{};  ///< sets with one mechanism off are simulated; of more than one, what they take off the step adds up
  std::vector<ScalingJob> replicates{};
  std::vector<SimulatedSize> sizes{};
  std::vector<std::string> notes{};
};

/// Steps are simulated without failures and starts at each size, as the scenario is and with each mechanism off
/// (`simulate::switches_of`), on the same draws. Between sizes ln step is a monotone cubic of ln ranks (monotone_cubic.hpp),
/// whose derivative is eps's. Goodput is that of `wall_shares`, at the scenario's interval or else the best; its derivative
/// by differences of 1 %. Sizes in ranks.
/// Errors:  forecast-021 (fewer than two sizes, or not ascending), those of `at` and of `simulate`.
/// Cost:    sizes x (1 + mechanisms, if asked for) x replicas simulations. Threads: same result for any number.
/// Held by: src/forecast/regimes/simulated_scaling_test.cpp
[[nodiscard]] Result<SimulatedScaling> simulate_scaling(const ScenarioAt& at,
                                                        const SimulatedScalingOptions& options);

}  // namespace cox::forecast
