// SPDX-License-Identifier: Apache-2.0
/// \file
/// Levers on the parts of a job, at any size by quadrature: what a Run can be asked without a Scenario of training steps.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cox/model/scenario.hpp"

#include "forecast/calibrate/parts.hpp"
#include "forecast/checkpoints/drawn_failures.hpp"
#include "forecast/levers/levers.hpp"
#include "forecast/project/project.hpp"
#include "forecast/sample/sample.hpp"

namespace cox::forecast {

/// A job by its parts, at one size.
struct PartsCase {
  Parts parts{};
  RestAt rest{};          ///< empty = as `project` does without
  RestWithLinks links{};  ///< the same with other links, and what a collapse rests on; `PartsJobOptions`
  RestWithLinks exact_links{};
  std::int64_t simulated_to = 0;
  std::optional<Parts> detour{};  ///< what the job is in a step in which all ranks take their detour together
  double detours = 0;             ///< share of such steps
  std::int64_t ranks = 0;
  std::optional<model::Scenario> failing{};  ///< whose failures and checkpoints it has; empty = nothing fails
};

struct PartLever {
  std::string name{};
  std::string does{};
  std::string learning{};
  std::string part{};  ///< two of one part exclude each other
  std::string why_not{};
  std::function<void(PartsCase&)> apply{};
  bool range =
      false;  ///< `apply` is what it does at most: from the job as it is up to there is a range, of which no place is likelier
};

/// Communication at any size, with any links, becomes other.
void change_rest(PartsCase& job,
                 const std::function<TimeEstimate(TimeEstimate rest, std::int64_t ranks)>& change);

/// In the order in which a set of them is applied. `sample`: what the parts were calibrated from, which names ranks; null = a
/// Scenario's parts, without names. Cost: a calibration for each number of ranks that is taken out.
/// Held by: src/forecast/levers/by_parts_test.cpp
[[nodiscard]] std::vector<PartLever> part_levers(const PartsCase& job, const Sample* sample);

struct PartLeverOptions {
  ProjectOptions project{};
  int replicates = 20;                   ///< parameters drawn again, the same draw with and without a lever
  std::optional<StatedRanges> stated{};  ///< of what fails, `PartsJobOptions`
  bool unseen = false;  ///< intervals hold as many draws more, with slow nodes and growth that were not seen
};

/// The job as it is and each lever alone, at the case's size: the same figures as `compare_levers`, without energy.
///
/// Formula: means and quantiles of maxima, nodes and ranks with parts of their own; the interval of a ratio is that of 90 % of the
/// draws of all parameters, and of those with what was not seen; of a range of what it does at most, and the job as it is. Margin: `margins_of_parts` to the boundary that is next for the job as it is. Errors: none.
/// Cost: levers x (replicates + margin's calls). Threads: same result for any number.
/// Held by: src/forecast/levers/by_parts_test.cpp
[[nodiscard]] LeverTable compare_part_levers(const PartsCase& job, const std::vector<PartLever>& levers,
                                             const PartLeverOptions& options, const LeverPrices& prices);

/// The cheapest set for a target, without levers whose effect is a range. Errors: none. Cost: sets x replicates.
/// Held by: src/forecast/levers/by_parts_test.cpp
[[nodiscard]] LeverSet cheapest_part_levers(const PartsCase& job, const std::vector<PartLever>& levers,
                                            const Target& target, const PartLeverOptions& options,
                                            const LeverPrices& prices);

/// Throughput with these levers over that without, at a size; nothing where a name is none of them.
[[nodiscard]] std::optional<double> throughput_with(const PartsCase& job,
                                                    const std::vector<PartLever>& levers,
                                                    const std::vector<std::string>& names, std::int64_t ranks,
                                                    const PartLeverOptions& options);

}  // namespace cox::forecast
