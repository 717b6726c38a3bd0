// SPDX-License-Identifier: Apache-2.0
/// \file
/// First look at one rank: which communicators it used and how often,
/// where its program waits, where its steps begin.
#pragma once

#include <cstdint>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/pace/decision.hpp"
#include "cox/trace/run.hpp"

namespace cox::diagnose {

/// Finds a communicator by its id, and a rank's place in it.
class CommIndex {
 public:
  explicit CommIndex(const trace::Run& run);
  /// Index into `run.communicators`, or -1.
  [[nodiscard]] std::int32_t find(CommId id) const {
    const auto v = static_cast<std::size_t>(id.value());
    if (dense_) return id.value() >= 0 && v < size_ ? id.value() : -1;
    return find_sparse(id);
  }

 private:
  [[nodiscard]] std::int32_t find_sparse(CommId id) const;
  std::size_t size_ = 0;
  bool dense_ = true;
  std::vector<std::pair<CommId, std::int32_t>> sorted_;
};

/// What one rank did on one communicator.
struct CommUse {
  std::int32_t comm = -1;  ///< index into `run.communicators`
  std::uint32_t first_seq = 0;
  std::uint32_t last_seq = 0;
  std::int64_t calls = 0;
  std::int64_t foreground = 0;  ///< calls in which the program itself blocked
  Bytes bytes{};                ///< sum of the message sizes, stops at the range of `Bytes`
};

/// Waits of one kind for one communicator.
struct WaitUse {
  std::int32_t comm = -1;  ///< -1 where the record names none
  std::uint8_t kind = 0;   ///< trace::WaitKind
  std::int64_t count = 0;
  std::int64_t skipped = 0;  ///< waits before the point from which they are numbered, see number_waits
};

struct StepMark {
  std::int64_t number = 0;
  Duration at{};
};

/// A call for messages that begins an exchange which all ranks take part in.
struct ExchangeCall {
  std::size_t event = 0;
  std::int64_t op = 0;  ///< which exchange, from 0
};

struct RankScan {
  /// Communication runs elsewhere: collectives off `program_thread` are background.
  bool program_waits = false;
  std::uint32_t program_thread = 0;
  bool has_phases = false;
  bool has_blocking = false;          ///< a collective that was not only started
  bool has_calls = false;             ///< a collective or a wait of any kind
  bool has_pace_decisions = false;    ///< of a controller
  bool stands_for_peer = false;       ///< in a call for one peer, and that blocks
  bool open_for_peer = false;         ///< in a call for one peer that has not returned
  Duration first = Duration::max();   ///< earliest begin
  Duration latest = Duration::min();  ///< last end, or begin of what has not returned
  std::int64_t collectives = 0;
  std::int64_t unmatchable = 0;  ///< collectives of no known communicator
  std::int64_t unfinished = 0;
  std::vector<CommUse> comms;           ///< sorted by comm
  std::vector<WaitUse> waits;           ///< sorted by (comm, kind)
  std::vector<StepMark> marks;          ///< sorted by number, one per number
  std::vector<ExchangeCall> exchanges;  ///< where all synchronise by messages alone: see exchanges.hpp

  [[nodiscard]] bool in_background(const trace::EventColumns& e, std::size_t i) const {
    if ((e.flags[i] & trace::kNonBlocking) != 0) return true;
    return program_waits && ((e.flags[i] & trace::kOffThread) != 0 || e.thread[i] != program_thread);
  }
  /// Nothing is known of the rank but calls that start an operation: it never seems to stand still.
  [[nodiscard]] bool only_starts() const { return !program_waits && !has_blocking; }
};

/// Whether the record is a wait in which the program stands still for communication.
[[nodiscard]] inline bool is_program_wait(const trace::EventColumns& e, std::size_t i) {
  if (e.kind[i] != trace::EventKind::Wait) return false;
  const auto kind = static_cast<trace::WaitKind>(e.op[i]);
  return kind == trace::WaitKind::GradientSync || kind == trace::WaitKind::Request;
}

/// Whether the record is a call in which the program stood still for one peer.
[[nodiscard]] inline bool is_peer_wait(const trace::EventColumns& e, std::size_t i) {
  return e.kind[i] == trace::EventKind::Wait &&
         static_cast<trace::WaitKind>(e.op[i]) == trace::WaitKind::Peer;
}

/// Whether the record is a hold that kept collectives of a pool of threads in order: on a worker's thread,
/// and no decision of a controller.
[[nodiscard]] inline bool keeps_order(const trace::EventColumns& e, std::size_t i) {
  return e.kind[i] == trace::EventKind::Pace && static_cast<pace::Reason>(e.op[i]) == pace::Reason::InOrder;
}

/// Whether the record is a delay that a pacing controller served: neither a wait of the program nor its work.
[[nodiscard]] inline bool is_served_delay(const trace::EventColumns& e, std::size_t i) {
  return e.kind[i] == trace::EventKind::Pace && e.end[i] > e.begin[i] && !keeps_order(e, i);
}

/// Index of a rank in `run.ranks`, or -1.
[[nodiscard]] std::int32_t index_of(const trace::Run& run, Rank rank);

/// The rank (index into `run.ranks`) at a place of a communicator, or -1.
[[nodiscard]] std::int32_t rank_at(const trace::Run& run, std::int32_t comm, std::uint32_t place);

/// Cost: one pass over the rank's events. Threads: ranks are independent.
[[nodiscard]] RankScan scan_rank(const trace::RankTrack& track, const CommIndex& comms);

/// Makes the k-th wait of every rank the same one: counted from the first step that all ranks marked; without
/// marks from the first wait, or backwards from the last one where records were recycled.
void number_waits(const trace::Run& run, const CommIndex& comms, std::vector<RankScan>& scans);

}  // namespace cox::diagnose
