// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ways of synchronising as a state machine that does not know whether time is real or virtual.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "cox/model/scenario.hpp"
#include "cox/sync/stream.hpp"

namespace cox::sync {

/// What a worker may do now.
enum class Ruling : std::uint8_t {
  Go,       ///< begin the next step with the newest parameters
  Wait,     ///< until `released` names it
  Discard,  ///< its update is not used; go on with the newest parameters
};

/// The rules of one job of `workers` workers. Each begins its first step at once, with version 0.
///   Synchronous:       version v + 1 exists once all workers have delivered v.
///   Backup(b):         once workers - b have; late updates of v are discarded (Chen et al. 2016).
///   BoundedWait(s):    an update is applied when it comes; a worker waits while it is more than s steps
///                      ahead of the slowest (stale synchronous parallel, Ho et al. 2013).
///   BoundedDiscard(s): an update older than s versions is dropped.
///   Asynchronous:      every update is applied when it comes.
///   LocalSgd(K):       as Synchronous every K-th step, Go in between (Stich 2019).
/// Versions: one per barrier, or one per applied update where there is none. A worker reads the newest when
/// it begins a step. Numbers beyond their range (negative bounds, as many backups as workers) count as the
/// nearest that has a meaning. A worker that leaves is waited for by nobody, and its number does not come back; one that
/// joins begins at the clock of the slowest.
/// Cost: O(1) amortised per call beside the released, which are sorted; memory O(workers + spread of their clocks). Pure:
/// no clock, no randomness. Threads: one owner. Held by: src/sync/policy_test.cpp (invariants of clocks and ages),
/// src/sync/stream_test.cpp (the ledger of every policy, with workers that come and go)
class Policy {
 public:
  Policy(const model::PolicySpec& spec, int workers);

  /// Worker `worker` has finished a step and what it made is here. `released` gets the workers (it among them, where it
  /// goes on) that may begin their next step now, in rank order; it is cleared first, as by the calls below.
  Ruling delivered(int worker, std::vector<int>& released);
  /// It is gone: dead, taken back, or told to go.
  void left(int worker, std::vector<int>& released) { left(std::span(&worker, 1), released); }
  /// All of them are, at once: nobody meets or goes on because one of them is, who is gone with it.
  void left(std::span<const int> workers, std::vector<int>& released);
  /// One more; returns its number.
  int joined(std::vector<int>& released);
  /// Other steps between two meetings from now on (LocalSgd).
  void set_local_steps(int steps) { spec_.local_steps = steps > 1 ? steps : 1; }
  /// Another bound from now on (BoundedWait, BoundedDiscard). A lower one stops those who are further ahead when they have
  /// ended their step; a higher one lets go who waited for the old one.
  void set_staleness(int bound, std::vector<int>& released);

  /// What the last call made happen, in order; until the next one.
  [[nodiscard]] std::span<const StreamEvent> events() const { return events_; }
  [[nodiscard]] std::int64_t version() const { return version_; }
  /// Whether step `step` of a worker synchronises (communicates) at all, with a K that did not change.
  [[nodiscard]] bool communicates(std::int64_t step) const;
  /// The step that a worker is in, or was in last where it waits.
  [[nodiscard]] std::int64_t clock(int worker) const;
  /// Steps that everybody has finished.
  [[nodiscard]] std::int64_t slowest() const { return slowest_; }
  /// Workers that have not left.
  [[nodiscard]] int members() const { return members_; }
  /// Arrivals that make a new version: all members, or as many as are waited for.
  [[nodiscard]] int quorum() const;

 private:
  struct Worker {
    std::int64_t read = 0;   ///< version it works with
    std::int64_t steps = 0;  ///< finished
    std::int64_t begun = 1;
    int local = 0;  ///< steps since it read
    bool here = true;
  };

  void begin_step(int worker, std::vector<int>& released);
  bool count_step(Worker& worker);  ///< this and the next: whether the slowest moved
  bool drop_empty_levels();
  void note(StreamEvent::Kind kind, const Update& update) {
    events_.push_back({.kind = kind, .update = update});
  }
  Ruling meet(int worker, std::vector<int>& released);
  void hold_meeting(std::vector<int>& released);
  Ruling apply(int worker, bool moved, std::vector<int>& released);
  void release_within_bound(std::vector<int>& released);
  void start_call(std::vector<int>& released);

  model::PolicySpec spec_;
  int members_;
  std::int64_t version_ = 0;
  std::int64_t slowest_ = 0;
  std::vector<Worker> workers_;
  std::deque<int> at_;  ///< members that have finished slowest_ + i steps
  std::vector<int> waiting_;
  std::vector<StreamEvent> events_;
};

}  // namespace cox::sync
