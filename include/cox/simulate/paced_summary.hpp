// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a simulated job with pacing came to: per arm, per rank, and every change of a controller's mind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/pace/decision.hpp"

namespace cox::simulate {

/// A rank over the steps of one arm.
struct PacedRank {
  Seconds delay{};  ///< mean per step
  Seconds wait{};   ///< mean per step, without transfer
  pace::Decision last{};
  pace::DecisionBasis evidence{};  ///< at the end
};

struct PacedSummary {
  std::string name;
  std::int64_t steps = 0;
  Seconds total{};
  Seconds mean{};
  double cv = 0;  ///< standard deviation (n - 1) of the periods over their mean
  Seconds p50{};
  Seconds p99{};
  Seconds delay{};               ///< mean per rank and step
  Seconds wait{};                ///< the same
  std::int64_t paced_steps = 0;  ///< in which some rank was delayed
  std::vector<PacedRank> ranks;
};

/// A rank's reason changed.
struct PacedChange {
  std::int64_t step = 0;  ///< the first step that the decision holds for
  std::size_t arm = 0;
  int rank = 0;
  pace::Decision decision;
};

}  // namespace cox::simulate
