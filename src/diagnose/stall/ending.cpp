// SPDX-License-Identifier: Apache-2.0
#include "diagnose/stall/ending.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>

#include "diagnose/match/span_math.hpp"

namespace cox::diagnose {
namespace {

using namespace std::chrono_literals;

/// Samples come up to a second apart: a smaller lead is none.
constexpr Duration kLead = 2s;
/// Where a Run does not say when it was told to end: ranks take their own time, up to five minutes.
constexpr std::int64_t kUnknownToldSeconds = 300;

/// The one rank that closed its record while others were cut off.
std::optional<Rank> only_closed(const Matched& matched) {
  std::optional<Rank> closed;
  for (const trace::RankTrack& track : matched.tracks()) {
    if (track.state == trace::WriterState::Open) continue;
    if (closed || track.state != trace::WriterState::Closed) return std::nullopt;
    closed = track.rank;
  }
  return matched.ranks() > 1 ? closed : std::nullopt;
}

/// The one rank that was cut off while all others closed their records.
std::optional<Rank> only_cut(const Matched& matched) {
  std::optional<Rank> cut;
  for (const trace::RankTrack& track : matched.tracks()) {
    if (track.state == trace::WriterState::Closed) continue;
    if (cut || track.state != trace::WriterState::Open) return std::nullopt;
    cut = track.rank;
  }
  return matched.ranks() > 2 && static_cast<int>(matched.ranks()) == matched.world_size() ? cut
                                                                                          : std::nullopt;
}

/// The one rank whose record ends well before any other's.
std::optional<Rank> first_silent(const Matched& matched, Duration lead) {
  std::optional<Rank> first;
  Duration earliest = Duration::max();
  Duration next = Duration::max();
  for (const trace::RankTrack& track : matched.tracks()) {
    if (track.samples.empty()) return std::nullopt;
    const Duration last = track.samples.back().at;
    if (last < earliest) {
      next = earliest;
      earliest = last;
      first = track.rank;
    } else {
      next = std::min(next, last);
    }
  }
  return next != Duration::max() && minus_clamped(next, earliest) >= lead ? first : std::nullopt;
}

/// Whose record ended before the job was told to end: after that ranks end one by one, each in its own time.
const trace::RankTrack* gone_before_told(const Matched& matched) {
  const std::int64_t told_before = matched.info().told_before_s;
  const Duration since_told = std::chrono::seconds(told_before >= 0 ? told_before : kUnknownToldSeconds);
  const std::optional<Rank> silent = first_silent(matched, kLead + since_told);
  if (!silent) return nullptr;
  const auto tracks = matched.tracks();
  return &*std::find_if(tracks.begin(), tracks.end(),
                        [&](const trace::RankTrack& t) { return t.rank == *silent; });
}

/// Whether `first` holds this call up, having ended in order and outside of any other; beside it may only be those who were cut off
/// after that.
bool is_held_up_by(const Stall& stall, Rank first) {
  const StalledCall& call = stall.calls.front();
  if (stall.last_seen.size() != stall.ranks.size() || !call.not_recorded.empty() || call.unnamed > 0)
    return false;
  bool held = false;
  for (const LastSeen& who : stall.last_seen) {
    if (who.process != ProcessState::Ended) continue;
    if (who.rank != first || who.inside) return false;
    held = true;
  }
  return held;
}

/// Whether somebody outside ended the job, as far as its status tells.
bool was_told_to_end(const Ending& ending) {
  const int signal = ending.signal > 0 ? ending.signal : ending.exit_status - 128;
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
}

}  // namespace

void find_absent(Ending& ending, const std::vector<Stall>& stalls) {
  if (!ending.first_in_order) return;
  if (ending.told > 0) {  // who ended in order, long before, has failed those who wait for it, if any
    for (const Stall& s : stalls)
      if (s.kind == StallKind::MissingRank && !s.consequence && s.calls.size() == 1 &&
          s.ranks == std::vector{*ending.first_in_order})
        ending.first = ending.first_in_order;
    return;
  }
  if (was_told_to_end(ending)) return;
  const Stall* from = nullptr;
  for (const Stall& s : stalls) {
    if (s.kind != StallKind::MissingRank || s.consequence || s.calls.size() != 1) continue;
    if (!is_held_up_by(s, *ending.first_in_order)) return;
    if (from == nullptr) from = &s;
  }
  if (from == nullptr) return;
  ending.first = ending.first_in_order;
  ending.absent_from = from->calls.front();
}

std::optional<Ending> find_ending(const Matched& matched) {
  const trace::RunInfo& info = matched.info();
  if (info.exit_status <= 0) {
    if (info.logged_end.empty()) return std::nullopt;
    return Ending{.logged = info.logged_end};
  }
  Ending ending{.exit_status = info.exit_status, .signal = info.signal, .told = info.told};
  if (ending.told > 0) {
    ending.told_before_s = info.told_before_s;
    // Recording that ended while the rank went on, for its cost or a full disk, says nothing of the rank.
    const trace::RankTrack* gone = gone_before_told(matched);
    if (gone != nullptr && gone->state == trace::WriterState::Open) ending.first = gone->rank;
    if (gone != nullptr && gone->state == trace::WriterState::Closed) ending.first_in_order = gone->rank;
    return ending;
  }
  if (!info.ends.empty() && info.ends.front().exit_status == trace::RankEnd::kInOrder) {
    ending.first_in_order = Rank(info.ends.front().rank);
  } else if (!info.ends.empty()) {
    const trace::RankEnd& first = info.ends.front();
    ending.first = Rank(first.rank);
    ending.first_status = first.exit_status;
    ending.first_cut = first.exit_status < 0;
    if (first.signal != 0) ending.signal = first.signal;
    return ending;
  }
  ending.only_closed = only_closed(matched);
  // Less is a status that some rank chose: then the launcher may have cut off another.
  constexpr int kAsAfterSignal = 128;
  if (info.exit_status > kAsAfterSignal) ending.only_cut = only_cut(matched);
  ending.first = first_silent(matched, kLead);
  if (ending.first_in_order && ending.first != ending.first_in_order) ending.first.reset();
  return ending;
}

}  // namespace cox::diagnose
