// SPDX-License-Identifier: Apache-2.0
/// \file
/// A Run's synchronisations as tracks that meet, ready to be replayed with other durations.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/replay/tracks.hpp"

#include "diagnose/match/matched.hpp"
#include "diagnose/match/span_math.hpp"

namespace cox::diagnose {

/// What replay needs beyond the tracks themselves. A cell is a member's part in a meeting.
struct Recording {
  explicit Recording(std::size_t ranks)
      : tracks(ranks), attended(ranks), carried_in(ranks, false), held_(ranks) {}

  replay::Tracks tracks;                             ///< work of a cell: own + held
  std::vector<std::vector<std::uint32_t>> attended;  ///< per rank: its meetings, in order
  std::vector<bool> carried_in;      ///< per rank: own work before its first meeting is not known
  std::size_t count = 0;             ///< of cells
  std::vector<std::int32_t> group;   ///< per meeting: index into `Matching::groups`
  std::vector<std::uint32_t> alike;  ///< per meeting: number of its (group, kind, size)
  std::vector<std::int32_t> step;    ///< per meeting; -1 = outside of all
  std::uint32_t alikes = 0;
  Duration measured{};
  bool has_steps = false;
  bool has_messages = false;      ///< ranks waited for messages between meetings
  bool cut = false;               ///< most_cells reached: only the beginning is here
  std::int64_t incomplete = 0;    ///< meetings of which a member is not in the Run
  std::int64_t out_of_order = 0;  ///< meetings that ranks reached in different orders: torn apart
  bool tangled = false;           ///< too many of these to mean anything

  /// The cell of a rank's k-th meeting.
  [[nodiscard]] std::size_t cell(std::size_t rank, std::size_t k) const {
    const replay::Tracks::Meeting& m = tracks.meetings()[attended[rank][k]];
    return m.first_cell + tracks.place(m.group, static_cast<replay::Track>(rank));
  }
  /// Time before that meeting that stays as it was in any scenario.
  [[nodiscard]] Duration held(std::size_t rank, std::size_t k) const {
    return held_[rank].empty() ? Duration::zero() : held_[rank][k];
  }
  /// Own work before that meeting; kUnknown where it is carried in.
  [[nodiscard]] Duration own(std::size_t rank, std::size_t k) const {
    if (k == 0 && carried_in[rank]) return kUnknown;
    return minus_clamped(tracks.work()[cell(rank, k)], held(rank, k));
  }
  /// A rank attends one more meeting.
  void attend(std::size_t rank, std::uint32_t meeting, Duration held);

 private:
  std::vector<std::vector<Duration>> held_;  ///< [rank][its k-th cell]; empty where that is always zero
};

/// What becomes of time in calls for messages between two meetings.
enum class MessageTime : std::uint8_t {
  Follows,  ///< it is what others' work makes of it: left out, the next meeting waits for the slowest
  Stays,    ///< it is held, as it was, in any scenario
};

/// Follows all ranks at once, each to its next synchronisation that holds all its members; a meeting takes
/// place when all that are known to come have come. Cost: linear in events; memory 12 bytes per cell, 20 where
/// ranks leave apart.
[[nodiscard]] Recording record(const Matched& matched, std::int64_t most_cells, MessageTime messages);

}  // namespace cox::diagnose
