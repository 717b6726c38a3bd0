// SPDX-License-Identifier: Apache-2.0
/// \file
/// All ranks' points of standing still in one order that respects every program, with running sums of work
/// and wait: what delay costs are computed on.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "cox/base/units.hpp"

#include "diagnose/charge/activities.hpp"
#include "diagnose/charge/roles.hpp"
#include "diagnose/match/matched.hpp"
#include "diagnose/match/span_math.hpp"

namespace cox::diagnose {

inline constexpr std::uint32_t kNoPoint = std::numeric_limits<std::uint32_t>::max();
/// In `RankPoints::op`: a wait for one peer; the rest of the number is an index into `WaitTimeline::peers`.
inline constexpr std::uint32_t kPeerBit = std::uint32_t{1} << 31;

/// One rank's points in its program's order. Running sums are taken *before* the point of the same index.
struct RankPoints {
  std::vector<Duration> entry;
  std::vector<Duration> work;    ///< own work since the first point
  std::vector<Duration> waited;  ///< one more than points: the last is the sum of all waits
  /// Index into `Matching::ops`, or kPeerBit and more; kNoPoint: nobody's wait.
  std::vector<std::uint32_t> op;
  Duration last_exit{};
  /// Only where activities are told apart: time in each class before the point, point-major.
  std::vector<Duration> activity;

  [[nodiscard]] std::size_t size() const { return entry.size(); }
  [[nodiscard]] Duration exit(std::size_t i) const {
    return i + 1 < size() ? minus_clamped(entry[i + 1], minus_clamped(work[i + 1], work[i])) : last_exit;
  }
  [[nodiscard]] Duration wait(std::size_t i) const { return waited[i + 1] - waited[i]; }
  /// Own work since the first point up to a time.
  [[nodiscard]] Duration work_until(Duration at) const;
  /// Of the points before `end`, the time waited up to a time.
  [[nodiscard]] Duration waited_until(Duration at, std::size_t end) const;
  /// The last point entered at that time or before; 0 where there is none.
  [[nodiscard]] std::size_t point_at(Duration at) const;
  /// When everybody was there: the moment from which on this rank no longer waited.
  [[nodiscard]] Duration complete(std::size_t i) const { return plus_clamped(entry[i], wait(i)); }
};

/// A wait for one peer.
struct PeerWait {
  std::uint32_t rank = 0;
  std::uint32_t point = 0;
  std::int32_t peer = -1;            ///< index into `run.ranks`; -1 where the record does not tell
  Duration end{};                    ///< of the wait; the rest of the call is transfer
  std::uint32_t peer_points = 0;     ///< points that the peer had left before the wait ended
  Duration since = Duration::min();  ///< end of the rank's last call before it that waited for the same peer
};

/// Groups with the same members: one synchronises as well as the other.
struct MemberClass {
  std::vector<std::int32_t> members;  ///< ascending indices into `run.ranks`
  bool everybody = false;             ///< members are all ranks, so that a rank is its own place
  std::int64_t ops = 0;
};

struct WaitTimeline {
  std::vector<RankPoints> ranks;
  std::vector<PeerWait> peers;
  std::vector<std::int32_t> group_of_op;  ///< per `Matching::ops`; -1 where its waits are not known
  std::vector<std::uint32_t> point_of;    ///< per cell: the member's point
  std::vector<MemberClass> classes;
  std::vector<std::int32_t> class_of_group;  ///< -1 where fewer than two members
  /// Per rank, ascending; the busiest where there are many.
  std::vector<std::vector<std::int32_t>> classes_of;
  /// Operations and peer waits, each after all that its members did before. As in `RankPoints::op`.
  std::vector<std::uint32_t> order;
  std::vector<std::uint32_t> before;     ///< per entry of `order`: last operation of the same class before it
  std::vector<std::uint32_t> last;       ///< per class: last operation
  std::vector<Duration> self_delay;      ///< per rank: positive parts, against its role
  std::vector<Duration> activity_delay;  ///< per class of activity, the same over all ranks
  std::int64_t contradictory = 0;  ///< operations whose members disagree on the order; their waits: unknown
  std::int64_t incomplete = 0;     ///< operations with a member missing: who came last is not known

  /// Place of a rank in a class, or -1.
  [[nodiscard]] std::int32_t place(std::int32_t cls, std::int32_t rank) const;
};

struct TimelineInput {
  const Matched& matched;
  const ActivityScheme& activities;
  const RoleClasses& roles;
};

/// By how much a member was early: the wait, before it is cut off where the member left early.
///
/// Formula: latest entry - entry on one clock, else duration - shortest duration.
/// `gaps` has one per member of the group, all of whom are known.
void measure_gaps(const Matched& matched, const Group& group, std::int64_t op, std::vector<Duration>& gaps);

/// Nothing where the Run has more points than can be numbered (2^31). Cost: linear in cells; 36 bytes per
/// point and 4 per cell.
[[nodiscard]] WaitTimeline lay_out_waits(const TimelineInput& in);

}  // namespace cox::diagnose
