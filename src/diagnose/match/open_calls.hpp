// SPDX-License-Identifier: Apache-2.0
/// \file
/// Calls that were entered and not left, put together over all members:
/// who is inside, who left, who never came.
#pragma once

#include <cstdint>
#include <vector>

#include "diagnose/match/matched.hpp"

namespace cox::diagnose {

/// What a member of a communicator did about one operation.
enum class MemberPart : std::uint8_t {
  NotEntered,
  Inside,
  Left,         ///< or has started it and not waited for it yet (non-blocking)
  NotRecorded,  ///< its record has a hole, is cut, switched off, or is not there
};

/// One operation, or one point-to-point call, in which at least one rank is inside.
struct OpenOperation {
  std::int32_t comm = -1;  ///< index into `run.communicators`
  std::uint32_t seq = 0;
  bool point_to_point = false;
  model::Collective kind = model::Collective::Other;  ///< as the first rank inside called it
  Bytes bytes{};
  std::vector<std::int32_t> inside{};   ///< indices into `run.ranks`, ascending
  std::vector<std::int32_t> missing{};  ///< the same
  std::vector<Rank> left{};
  std::vector<Rank> not_recorded{};
  std::int64_t unnamed = 0;  ///< members beyond those that the communicator lists
  Duration since{};          ///< earliest entry of those inside
  std::int32_t first = -1;   ///< who entered then
};

/// Of one rank: whether its program stands in an open call or wait. What its library's workers do does not
/// make it stand still.
struct Standing {
  bool still = false;
  bool recorded = true;                  ///< false: what it did last may be lost
  std::vector<std::int32_t> operations;  ///< indices into `OpenCalls::operations` that it is inside of
};

struct OpenCalls {
  std::vector<OpenOperation> operations;  ///< ordered by (point_to_point, comm, seq, first)
  std::vector<Standing> ranks;            ///< as `run.ranks`
  std::int64_t not_looked_at = 0;         ///< open operations beyond what is looked at
};

/// Ranks that ended in order, and calls whose thread has since done something else, count as nothing.
/// Cost: two passes over the events, the second only where something is open; memory bounded by the events.
[[nodiscard]] OpenCalls find_open_calls(const Matched& matched);

}  // namespace cox::diagnose
