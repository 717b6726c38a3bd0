// SPDX-License-Identifier: Apache-2.0
#include "diagnose/what_if/path.hpp"

#include <algorithm>

#include "diagnose/match/span_math.hpp"

namespace cox::diagnose {

PathTimes critical_path(const Recording& recording, const replay::MeetingTimes& times, std::size_t groups) {
  PathTimes out;
  out.work.assign(recording.attended.size(), Duration::zero());
  out.held = out.work;
  out.transfer.assign(groups, Duration::zero());
  const auto& tracks = recording.tracks;
  if (tracks.size() == 0) return out;
  std::size_t rank = times.final_track;
  std::size_t next = recording.attended[rank].size();  // meetings of this rank that lie before
  add_to(out.held[rank], tracks.tails()[rank]);
  while (next > 0) {
    const std::uint32_t meeting = recording.attended[rank][next - 1];
    const replay::Tracks::Meeting& m = tracks.meetings()[meeting];
    add_to(out.transfer[static_cast<std::size_t>(recording.group[meeting])], m.transfer);
    rank = tracks.members(m.group)[times.last[meeting]];
    const auto& all = recording.attended[rank];
    next = static_cast<std::size_t>(std::lower_bound(all.begin(), all.end(), meeting) - all.begin());
    const Duration own = recording.own(rank, next);
    add_to(out.work[rank], own == kUnknown ? Duration::zero() : own);
    add_to(out.held[rank], recording.held(rank, next));
  }
  add_to(out.carried_in, tracks.starts()[rank]);
  return out;
}

}  // namespace cox::diagnose
