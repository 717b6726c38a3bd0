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

namespace cox::diagnose {

/// Where a stretch of a rank's own work stands: before which meeting, and at which place of its group.
struct CellPlace {
  std::uint32_t meeting = 0;
  std::uint32_t place = 0;
};

/// What replay needs beyond the tracks themselves. A cell is a member's part in a meeting.
struct Recording {
  explicit Recording(std::size_t ranks) : tracks(ranks), cells(ranks), own(ranks), held(ranks) {}

  replay::Tracks tracks;                      ///< work of a cell: own + held
  std::vector<std::vector<CellPlace>> cells;  ///< per rank, in order
  std::vector<std::vector<Duration>> own;     ///< [rank][its k-th cell]: own work; kUnknown where carried in
  std::vector<std::vector<Duration>> held;    ///< the same: time that stays as it was in any scenario
  std::size_t count = 0;                      ///< of cells
  std::vector<std::int32_t> group;            ///< per meeting: index into `Matching::groups`
  std::vector<std::uint32_t> alike;           ///< per meeting: number of its (group, kind, size)
  std::vector<std::int32_t> step;             ///< per meeting; -1 = outside of all
  std::uint32_t alikes = 0;
  Duration measured{};
  bool has_steps = false;
  bool cut = false;               ///< most_cells reached: only the beginning is here
  std::int64_t incomplete = 0;    ///< meetings of which a member is not in the Run
  std::int64_t out_of_order = 0;  ///< meetings that ranks reached in different orders: torn apart
  bool tangled = false;           ///< too many of these to mean anything

  [[nodiscard]] std::size_t cell(CellPlace at) const {
    return tracks.meetings()[at.meeting].first_cell + at.place;
  }
};

/// Follows all ranks at once, each to its next synchronisation that holds all its members; a meeting takes
/// place when all that are known to come have come. Cost: linear in events; memory 32 bytes per cell, own and
/// held rank by rank so that one rank is read in one piece.
[[nodiscard]] Recording record(const Matched& matched, std::int64_t most_cells);

}  // namespace cox::diagnose
