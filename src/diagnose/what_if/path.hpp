// SPDX-License-Identifier: Apache-2.0
/// \file
/// The critical path of a recording, divided among those who are on it.
#pragma once

#include <vector>

#include "cox/base/units.hpp"
#include "cox/replay/tracks.hpp"

#include "diagnose/what_if/recording.hpp"

namespace cox::diagnose {

/// All together are the makespan.
struct PathTimes {
  std::vector<Duration> work;      ///< per rank: own work
  std::vector<Duration> held;      ///< per rank: the rest of its time between meetings
  std::vector<Duration> transfer;  ///< per group of the matching
  Duration carried_in{};
};

/// Goes back from the end: through the transfer of each meeting to who came last to it (the lowest of
/// equals), and through what that rank did to its meeting before. Cost: O(meetings * log cells).
[[nodiscard]] PathTimes critical_path(const Recording& recording, const replay::MeetingTimes& times,
                                      std::size_t groups);

}  // namespace cox::diagnose
