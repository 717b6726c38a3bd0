// SPDX-License-Identifier: Apache-2.0
/// \file
/// The walk backwards: from each wait to the work that caused it.
#pragma once

#include <cstdint>
#include <vector>

#include "diagnose/charge/sums.hpp"
#include "diagnose/charge/timeline.hpp"

namespace cox::diagnose {

/// Sums charged, without limit. Together they are `waited`.
struct Charges {
  struct OfRank {
    WideSum short_term;
    WideSum long_term;
    WideSum communication;
  };
  /// Of what a culprit's own work caused: by the waits of one rank, and by way of it.
  struct OfPair {
    Duration direct{};
    Duration passed{};
  };
  std::vector<OfRank> ranks;
  std::vector<WideSum> by_activity;       ///< rank-major
  std::vector<std::int32_t> row_of_rank;  ///< into `pairs`; -1: this culprit's pairs are not kept apart
  std::vector<OfPair> pairs;              ///< row-major, ranks columns
  WideSum waited;
  WideSum carried_in;
  WideSum unknown;
  std::int64_t operations = 0;
  bool too_tangled = false;  ///< the walk was cut off where groups overlap beyond reason; the rest is unknown
};

/// Charges all waits of the timeline.
/// Cost: linear in cells x groups per rank; pairs of culprit and victim for at most 2^20 / ranks culprits.
[[nodiscard]] Charges charge_waits(const TimelineInput& in, const WaitTimeline& t);

}  // namespace cox::diagnose
