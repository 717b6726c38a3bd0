// SPDX-License-Identifier: Apache-2.0
#include "diagnose/match/sync_cursor.hpp"

#include <algorithm>
#include <utility>

namespace cox::diagnose {
namespace {

/// How many records after a wait's own are looked at for the collective that it waited for.
constexpr std::size_t kLookAhead = 64;
constexpr std::size_t kLookBack = 64;

}  // namespace

SyncCursor::SyncCursor(const trace::Run& run, const CommIndex& comms, const RankScan& scan,
                       const std::vector<Group>& groups, std::size_t rank_index)
    : events_(&run.ranks[rank_index].events), comms_(&comms), scan_(&scan), groups_(&groups) {
  const auto self = static_cast<std::int32_t>(rank_index);
  const auto place_in = [&](bool waits, std::int32_t comm, std::uint8_t kind) {
    Place place{comm, kind, -1, -1, 0};
    const auto at = find_group(groups, waits, comm, kind);
    if (at < 0) return place;
    const auto& members = groups[static_cast<std::size_t>(at)].members;
    const auto member = std::lower_bound(members.begin(), members.end(), self);
    if (member == members.end() || *member != self) return place;
    place.group = at;
    place.member = static_cast<std::int32_t>(member - members.begin());
    return place;
  };
  for (const CommUse& use : scan.comms)
    if (const Place place = place_in(false, use.comm, 0); place.group >= 0) call_places_.push_back(place);
  for (const WaitUse& use : scan.waits) {
    Place place = place_in(true, use.comm, use.kind);
    place.next_wait = -use.skipped;
    if (place.group >= 0) wait_places_.push_back(place);
  }
  if (!scan.exchanges.empty())
    exchange_ = place_in(true, -1, static_cast<std::uint8_t>(trace::WaitKind::Peer));
}

/// Taken as what holds all: over many exchanges it does.
void SyncCursor::locate_exchange(SyncPoint& point) {
  point.kind = model::Collective::Barrier;
  point.group = exchange_.group;
  point.member = exchange_.member;
  if (exchange_.group >= 0) point.op = scan_->exchanges[next_exchange_].op;
}

void SyncCursor::locate_call(std::size_t i, SyncPoint& point) {
  const trace::EventColumns& e = *events_;
  if (e.comm[i] != last_comm_) {
    const auto comm = comms_->find(e.comm[i]);
    const auto at = std::lower_bound(call_places_.begin(), call_places_.end(), comm,
                                     [](const Place& p, std::int32_t c) { return p.comm < c; });
    const bool known = comm >= 0 && at != call_places_.end() && at->comm == comm;
    last_place_ = known ? static_cast<std::size_t>(at - call_places_.begin()) : call_places_.size();
    last_comm_ = e.comm[i];
  }
  if (last_place_ >= call_places_.size()) return;
  const Place& place = call_places_[last_place_];
  const Group& group = (*groups_)[static_cast<std::size_t>(place.group)];
  point.group = place.group;
  point.member = place.member;
  if (group.sparse_seqs.empty()) {
    point.op = static_cast<std::int64_t>(e.seq[i]) - static_cast<std::int64_t>(group.first_seq);
  } else {
    const auto at = std::lower_bound(group.sparse_seqs.begin(), group.sparse_seqs.end(), e.seq[i]);
    point.op = at - group.sparse_seqs.begin();
  }
  if (point.op >= group.ops) point.op = -1;
}

void SyncCursor::locate_wait(std::size_t i, SyncPoint& point) {
  const trace::EventColumns& e = *events_;
  const auto comm = comms_->find(e.comm[i]);
  point.kind = static_cast<trace::WaitKind>(e.op[i]) == trace::WaitKind::GradientSync
                   ? model::Collective::AllReduce
                   : awaited(i, comm);
  for (Place& place : wait_places_) {
    if (place.comm != comm || place.wait_kind != e.op[i]) continue;
    const std::int64_t op = place.next_wait++;
    const Group& group = (*groups_)[static_cast<std::size_t>(place.group)];
    if (op < 0 || op >= group.ops) return;
    point.group = place.group;
    point.member = place.member;
    point.op = op;
    return;
  }
}

/// What a `Work::wait` waited for: the collective that it names, else among the background collectives that
/// began before the wait ended the last one that ended before the wait did. `Other` where there is none: such
/// a wait orders nobody.
model::Collective SyncCursor::awaited(std::size_t i, std::int32_t comm) const {
  const trace::EventColumns& e = *events_;
  model::Collective kind = model::Collective::Other;
  Duration latest = Duration::min();
  const std::size_t from = i > kLookBack ? i - kLookBack : 0;
  const std::size_t to = std::min(e.size(), i + kLookAhead);
  for (std::size_t k = from; k < to; ++k) {
    if (e.begin[k] > e.end[i]) break;
    if (e.kind[k] != trace::EventKind::Collective || e.end[k] > e.end[i] || e.end[k] < latest) continue;
    if (comm >= 0 && (comms_->find(e.comm[k]) != comm || e.seq[k] != e.seq[i])) continue;
    kind = e.collective(k);
    latest = e.end[k];
  }
  return kind;
}

/// A rank that waited for messages, or that a controller held back, did not work then.
void SyncCursor::add_idle(std::size_t i) {
  const trace::EventColumns& e = *events_;
  if (e.end[i] == trace::kStillRunning) return;
  const bool messages = is_peer_wait(e, i);
  if (!started_) {
    if (!messages) return;
    started_ = true;
    previous_exit_ = begun_ = e.begin[i];
  }
  const Duration from = std::max({e.begin[i], previous_exit_, idle_until_});
  if (e.end[i] <= from) return;
  add_to(idle_, minus_clamped(e.end[i], from));
  idle_until_ = e.end[i];
  if (!messages) return;
  add_to(messages_, minus_clamped(e.end[i], from));
  messages_until_ = e.end[i];
}

SyncCursor::Tail SyncCursor::tail() const {
  if (!started_ || messages_until_ <= previous_exit_) return {{}, {}, previous_exit_};
  const Duration whole = minus_clamped(messages_until_, previous_exit_);
  const Duration messages = std::min(messages_, whole);
  return {positive_part(minus_clamped(whole, idle_)), messages, messages_until_};
}

bool SyncCursor::advance_time(std::size_t i, SyncPoint& point) {
  const trace::EventColumns& e = *events_;
  if (e.end[i] == trace::kStillRunning) {
    work_known_ = false;  // what follows did not follow from a synchronisation that ended
    return false;
  }
  if (started_ && e.end[i] <= previous_exit_ && e.begin[i] < previous_exit_)
    return false;  // inside the previous point
  point.event = i;
  point.entry = started_ ? std::max(e.begin[i], previous_exit_) : e.begin[i];
  point.exit = std::max(e.end[i], point.entry);
  point.gap = started_ ? minus_clamped(point.entry, previous_exit_) : Duration::zero();
  if (!started_) begun_ = point.entry;
  point.idle = std::min(idle_, point.gap);
  point.messages = std::min(messages_, point.idle);
  point.gap -= point.idle;
  add_to(held_, point.idle);
  idle_ = messages_ = Duration::zero();
  const bool alone = point.group >= 0 && (*groups_)[static_cast<std::size_t>(point.group)].declared < 2;
  point.holds_all = !alone && model::synchronizes_all(point.kind);
  add_to(work_, point.gap);
  point.work = kUnknown;
  point.held = held_;
  if (point.holds_all) {
    if (work_known_) point.work = work_;
    work_ = Duration::zero();
    held_ = Duration::zero();
    work_known_ = true;
  } else {
    add_to(held_, minus_clamped(point.exit, point.entry));
  }
  started_ = true;
  previous_exit_ = point.exit;
  return true;
}

}  // namespace cox::diagnose
