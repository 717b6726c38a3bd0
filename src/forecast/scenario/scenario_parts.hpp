// SPDX-License-Identifier: Apache-2.0
/// \file
/// Between a Scenario and the parts of a job: what a Scenario says, as Parts; what Parts say, as a Scenario.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/model/scenario.hpp"

#include "forecast/calibrate/parts.hpp"
#include "forecast/project/project.hpp"
#include "forecast/sample/sample.hpp"

namespace cox::forecast {

/// The own work of a Scenario's ranks, as it says: compute and [[noise]], a pipeline as stages. Named ranks, and whoever's turn it
/// is, are so many at any size. What messages and links are disturbed by is in `rest`, simulated. What has no counterpart (noise
/// that happens once, of rails and stages, recorded traces) is in `untold`, one sentence each. For strong scaling also what is not
/// divided, by ranks: the optimizer's step, found from a step of twice or half as many, and noise that is stated as a time.
/// Errors:  forecast-004 (a job without steps of compute and a synchronisation: goal, trace, iteration; a policy that does
///          not meet in every step), those of `simulate::Noise` and, of a step without noise, of `simulate::simulate`.
/// Cost:    that of `quiet_step`; 0.1 s for each source of fresh noise of a rank beyond the first. Held by:
///          src/forecast/scenario/scenario_parts_test.cpp
[[nodiscard]] Result<Parts> parts_of(const model::Scenario& scenario, Scaling scaling = Scaling::Weak);

/// The sources of noise that `parts_of` takes in, each to be switched off: mechanisms are named as the Scenario names them. A
/// source without a name is that of its law. Empty where there are none, or more than four: sums of them take too long.
/// Errors:  as `parts_of`. Cost: as `parts_of`; of `positions` a call as the sums of what is left on, each set once.
/// Held by: src/forecast/scenario/scenario_parts_test.cpp
[[nodiscard]] Result<WorkSources> work_sources_of(const model::Scenario& scenario,
                                                  Scaling scaling = Scaling::Weak);

/// Communication of a Scenario at other sizes: a step without noise is simulated there, up to 16,384 ranks, and beyond, up to
/// 1,048,576, where it evaluates no more than 2^24 messages and events. Beyond what is simulated it grows on as over the last
/// doublings, as a range: from not at all to all that communication grows by where nothing hides it. More data parallel replicas,
/// same layout otherwise. In strong scaling ranks have the work there that it leaves them (`resized`), so it hides as much less. Memory of what was simulated is kept in the function. Threads: safe.
/// Held by: src/forecast/scenario/scenario_rest_test.cpp
[[nodiscard]] RestAt rest_of(const model::Scenario& scenario, Scaling scaling = Scaling::Weak);

/// The same, and how far it is simulated.
struct RestOfScenario {
  RestAt at;
  /// Of a size that is beyond all that are simulated the largest that is; else nothing. Cost: that of `at`.
  std::function<std::optional<std::int64_t>(std::int64_t ranks)> simulated_below;
  /// Simulated at that very size, where that is one of whole replicas and not beyond what is simulated at any cost; else nothing.
  std::function<std::optional<TimeEstimate>(std::int64_t ranks)> simulated_at;
  /// Communication where cards and switches pass so many times the bytes: what work hides of it is another part then. Simulated at ten factors
  /// from 1/1,024 to 1,024, at three where a step is dear; a line between them. Held by: src/forecast/scenario/scenario_rest_test.cpp
  RestWithLinks with_links;
  RestWithLinks with_exact_links;  ///< the same, each factor simulated; as dear as `at` for each
};
[[nodiscard]] RestOfScenario rest_and_range_of(const model::Scenario& scenario,
                                               Scaling scaling = Scaling::Weak);

/// A Scenario that does what the parts say, at the size where they were seen: a collective a step, `compute` before it, [[noise]]
/// for each part, messages that cost what was seen. Unlike synchronisations of a step are so many alike steps, roles are named
/// ranks; `notes` say what is lost. Sums that ran beside work are layers of training that are summed as they were seen to be
/// (`beside_work`), with messages as `samples` of one job tell; empty = as `sample` alone does.
/// Errors:  forecast-005 (no own work).
/// Held by: src/forecast/scenario/calibrated_test.cpp
struct Calibrated {
  model::Scenario scenario;
  int synchronisations = 1;        ///< steps of the Scenario that are one that was seen
  std::int64_t roles = 1;          ///< kinds of ranks
  Traffic exchange{};              ///< what its collective stands for, as it was seen
  std::vector<std::string> notes;  ///< what was assumed, one sentence each
  bool overlaps = false;           ///< its steps are of training, with sums beside work as they were seen
  std::string why_no_overlap{};    ///< why not, where some ran beside work; else empty
};
[[nodiscard]] Result<Calibrated> calibrated_scenario(const Parts& parts, const Sample& sample,
                                                     std::span<const Sample> samples = {});

/// Communication of a calibrated Scenario at other sizes: the price of its collective without noise, by closed form. As a
/// range where latency and bandwidth cannot be told apart: all of the measured time is latency of a ring (grows with the
/// ranks), or bandwidth (does not grow).
/// Held by: src/forecast/scenario/calibrated_test.cpp
[[nodiscard]] RestAt rest_of(const Parts& parts, const Sample& sample);

}  // namespace cox::forecast
