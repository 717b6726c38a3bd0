// SPDX-License-Identifier: Apache-2.0
/// \file
/// Tracks that work on their own and meet: the same max-plus recursion as for a program, for the shape that
/// synchronous jobs have, and many questions about it answered in one pass.
///
/// A meeting is one join of a program with one operation before it per member. Written as a program it would
/// take 24 bytes per member and a finish time each; here it takes 8, and what has to be remembered while
/// evaluating is one time per track.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "cox/base/units.hpp"

namespace cox::replay {

/// Index of a track.
using Track = std::uint32_t;

/// Who meets when, and how long each worked before. Meetings are added in an order in which, for each track,
/// the earlier one comes first.
///
/// Memory: 8 bytes per member of a meeting, 32 per meeting, 4 per member of a group.
class Tracks {
 public:
  struct Meeting {
    std::uint64_t first_cell = 0;  ///< its members' work is `work()[first_cell ...]`, in the group's order
    std::uint32_t group = 0;
    std::uint32_t block = 0;
    Duration transfer{};  ///< from the last arrival to when all go on
  };

  explicit Tracks(std::size_t count) : start_(count), tail_(count) {}

  /// Tracks that meet: ascending, each below the count, at least one (asserted). Returns the group's number.
  std::uint32_t add_group(std::span<const Track> members);
  /// All of `group` meet, each after `work[k]` since its own last meeting (or since its start), and go on
  /// `transfer` after the last of them came. Blocks are stretches of the time line that results are told by;
  /// they never decrease (asserted). Negative times count as zero. Returns the meeting's number.
  std::size_t meet(std::uint32_t group, std::span<const Duration> work, Duration transfer,
                   std::uint32_t block = 0);
  void set_start(Track t, Duration at) { start_[t] = std::max(at, Duration::zero()); }
  /// What a track does after its last meeting.
  void set_tail(Track t, Duration d) { tail_[t] = std::max(d, Duration::zero()); }
  void reserve(std::size_t meetings, std::size_t cells);

  [[nodiscard]] std::size_t size() const { return start_.size(); }
  [[nodiscard]] std::size_t blocks() const { return meetings_.empty() ? 0 : meetings_.back().block + 1; }
  [[nodiscard]] std::span<const Meeting> meetings() const { return meetings_; }
  [[nodiscard]] std::span<const Duration> work() const { return work_; }
  [[nodiscard]] std::span<const Duration> starts() const { return start_; }
  [[nodiscard]] std::span<const Duration> tails() const { return tail_; }
  [[nodiscard]] std::size_t groups() const { return first_member_.size() - 1; }
  [[nodiscard]] std::span<const Track> members(std::uint32_t group) const {
    return std::span(members_).subspan(first_member_[group], first_member_[group + 1] - first_member_[group]);
  }
  /// Where in its group a member stands. Cost: constant where members are evenly spaced, else a search.
  [[nodiscard]] std::size_t place(std::uint32_t group, Track member) const {
    const auto all = members(group);
    if (const std::size_t next = member - all[0]; next < all.size() && all[next] == member) return next;
    const Track spacing = all.size() > 1 ? all[1] - all[0] : 1;
    const std::size_t guess = (member - all[0]) / spacing;
    if (guess < all.size() && all[guess] == member) return guess;
    return static_cast<std::size_t>(std::lower_bound(all.begin(), all.end(), member) - all.begin());
  }

 private:
  std::vector<Meeting> meetings_;
  std::vector<Duration> work_;
  std::vector<std::uint64_t> first_member_{0};
  std::vector<Track> members_;
  std::vector<Duration> start_;
  std::vector<Duration> tail_;
};

/// Of each meeting of many, the members that work longest before it: a question that replaces a few tracks then need
/// not look at all others.
///
/// Cost: O(cells) once; memory 16 bytes for each of `kKept` members of a meeting of `kLeastMembers` or more.
class Longest {
 public:
  static constexpr std::size_t kKept = 9;
  static constexpr std::size_t kLeastMembers = 32;
  struct Member {
    Duration work{};
    Track track = 0;
  };
  /// Of `work` per cell; empty: as built. Threads: blocks of meetings.
  explicit Longest(const Tracks& tracks, std::span<const Duration> work = {}, int threads = 1);
  /// Longest first; empty where the meeting is small.
  [[nodiscard]] std::span<const Member> of(std::size_t meeting) const {
    const std::uint32_t at = first_[meeting];
    return at == kNone ? std::span<const Member>{} : std::span(kept_).subspan(std::size_t{at} * kKept, kKept);
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  std::vector<std::uint32_t> first_;  ///< per meeting, in units of kKept
  std::vector<Member> kept_;
};

/// One question: the same meetings with other durations.
struct OtherDurations {
  std::span<const Duration> work{};      ///< per cell; empty: as built
  const Longest* longest = nullptr;      ///< of the same work; none: every member is looked at
  std::span<const Duration> transfer{};  ///< per meeting; empty: as built
  /// Tracks whose work is replaced: the k-th is that before the track's k-th meeting. No track twice.
  std::vector<std::pair<Track, std::span<const Duration>>> instead{};
};

/// The answer.
struct BlockTimes {
  Duration makespan{};
  /// Latest end of any meeting in this block or before it; the last one is the makespan.
  std::vector<Duration> block_end;
};

/// Evaluates questions, 32 at a time in one pass.
///
/// Formula: leave(c) = max over members t of (leave(previous meeting of t) + work(t, c)) + transfer(c).
///          Members that all come from one meeting need one maximum of their work for all questions.
/// Units:   as given; negative counts as zero, sums stop at the range of `Duration`.
/// Errors:  a column of another size than the tracks' own, or fewer replacements than
///          a track has meetings: asserted.
/// Threads: passes over several; the same answer for any number (0 = one per core).
/// Cost:    per pass O(cells), and O(32) per member that does not come from where its neighbour comes from.
///          Memory O(tracks * 32) per thread and the result.
/// Source:  Baccelli et al., Synchronization and Linearity (1992), section 2; max-plus recursion.
/// Held by: src/replay/tracks_test.cpp, tests/property/replay_laws.cpp (equal to a program)
[[nodiscard]] std::vector<BlockTimes> replay(const Tracks& tracks, std::span<const OtherDurations> questions,
                                             int threads = 1);

/// What happened at each meeting as built.
struct MeetingTimes {
  std::vector<Duration> last_arrival;  ///< per meeting
  std::vector<std::uint32_t> last;  ///< per meeting: place in its group of who came last (lowest of equals)
  std::vector<Duration> ahead;      ///< per meeting: how much earlier the second to last came
  std::vector<Duration> waited;     ///< per track, sum over its meetings
  Duration makespan{};
  Track final_track = 0;  ///< who is busy until then (lowest of equals)
};
/// Cost: O(cells).
[[nodiscard]] MeetingTimes times_of(const Tracks& tracks);

/// How many (member, meeting) pairs come from another meeting than the member before them: what a question
/// costs beyond the pass over all cells. Cost: O(cells).
[[nodiscard]] std::size_t separate_arrivals(const Tracks& tracks);

}  // namespace cox::replay
