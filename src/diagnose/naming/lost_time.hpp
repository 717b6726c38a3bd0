// SPDX-License-Identifier: Apache-2.0
/// \file
/// What would be saved if somebody had been on time: removal of self-delay, operation by operation.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "cox/base/units.hpp"

#include "diagnose/match/matched.hpp"

namespace cox::diagnose {

class Positions;

/// Who is imagined to be on time, and when. Several suspects must not share a rank at one operation.
struct Suspect {
  std::vector<std::int32_t> ranks;  ///< indices into `run.ranks`
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;  ///< inclusive
  /// Where set, only this rank of `ranks` is meant in each step (-1: none): a culprit that rotates.
  std::vector<std::int32_t> rank_of_step;
  /// Where set, only before these operations of a step (indices of `Positions`), ascending.
  std::vector<std::int32_t> positions{};
};

/// Times by index into `Matching::groups`, ascending.
using GroupTimes = std::vector<std::pair<std::int32_t, Duration>>;

struct Saving {
  Duration share{};       ///< this suspect's part of what fixing all of them saves
  Duration alone{};       ///< what fixing only this one saves
  GroupTimes share_in{};  ///< `share` and `alone` by the groups whose operations they are of
  GroupTimes alone_in{};
  GroupTimes bound_in{};  ///< its own delays, by group: it cannot save more, whoever waits for it
};

struct Savings {
  Duration joint{};  ///< what fixing all of them saves; the shares add up to it
  GroupTimes joint_in{};
  std::vector<Saving> each;
};

/// What the rank saves that saves most: the sum over the groups that it is in. Groups of other ranks synchronise beside
/// it, not after it, so a sum over all groups may be more than the run takes. Of one group it is that group's.
/// Cost: O(members of these groups). Held by: src/diagnose/naming/lost_time_test.cpp
[[nodiscard]] Duration most_of_a_rank(const Matched& matched, const GroupTimes& times);
/// Adds group by group.
void add_to(GroupTimes& sum, const GroupTimes& times);

/// Removes the self-delay of the suspects and compares the latest arrivals before and after.
///
/// The joint saving is divided by the Shapley value, which for "the latest one sets the time" has the closed
/// form of the airport game: the time between the i-th and the (i+1)-th latest suspect is divided among the
/// first i. Source: Littlechild, Owen 1973, "A simple expression for the Shapley value in a special case".
/// Cost: O(cells of compared operations). Held by: src/diagnose/naming/lost_time_test.cpp
/// `positions` is needed where a suspect is limited to some.
[[nodiscard]] Savings savings_without(const Matched& matched, const std::vector<Suspect>& suspects,
                                      const Positions* positions = nullptr);
/// The same over other operations, which may lack members: what those present would save.
[[nodiscard]] Savings savings_without(const Matched& matched, const std::vector<Suspect>& suspects,
                                      const std::vector<ComparedOp>& ops);

}  // namespace cox::diagnose
