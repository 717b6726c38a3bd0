// SPDX-License-Identifier: Apache-2.0
/// \file
/// What is asked of a scenario beside its sizes: what would help, what failures leave, how long a training takes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/forecast/checkpoints.hpp"
#include "cox/forecast/levers.hpp"
#include "cox/forecast/project.hpp"

namespace cox::forecast {

/// A training to be done.
struct Training {
  double tokens = 0;
  double tokens_per_step = 0;  ///< of the scenario as it is
  BatchRule rule = BatchRule::Grows;
  std::optional<Seconds> within{};  ///< how many nodes finish in that time
};

/// How long a step takes in a draw of the job's parameters, over the estimate, at a number of ranks.
using DrawnStep = std::function<double(std::int64_t ranks, int draw)>;

/// What a step of so many ranks goes into, simulated with the job's noise; nothing = it is not.
using SimulatedStep = std::function<std::optional<StepParts>(std::int64_t ranks)>;

struct ControlQuestion {
  bool levers = false;
  std::optional<Target> target{};
  std::optional<Training> training{};
  std::vector<std::int64_t>
      nodes{};  ///< beside the scenario's own; sizes that its layout does not fit are told
  LeverOptions options{};
  DrawnStep drawn_steps{};  ///< empty = steps are not drawn
  /// How long a step takes over what parts say, by ranks: margins of levers take it; empty = 1.
  std::function<double(std::int64_t ranks)> over_parts{};
  SimulatedStep simulated{};  ///< days take these steps where there are some; empty = there are none
};

/// How a ratio that was simulated is known.
struct SimulatedRatio {
  double low = 1;  ///< 90 %, over seeds
  double high = 1;
  std::int64_t steps = 0;  ///< of each seed
};

/// A size with the set of levers that the target wants.
struct ControlledSize {
  std::int64_t ranks = 0;
  double throughput_ratio = 1;                ///< over the job as it is, at this size
  std::optional<SimulatedRatio> simulated{};  ///< empty = by the job's parts
  bool from_own = false;  ///< by the parts, times what was simulated at the scenario's own size over them
};

/// What was found of levers, as far as it was asked for.
struct Control {
  std::optional<LeverTable> levers{};
  std::optional<LeverTable>
      played{};  ///< of a Run beside: those that its calibrated Scenario is simulated with
  std::optional<LeverSet> set{};
  std::string target{};
  std::vector<ControlledSize> controlled{};  ///< sizes asked, where the set can be forecast there
  std::vector<std::string> notes{};          ///< what was left out or assumed, one sentence each
};

}  // namespace cox::forecast
