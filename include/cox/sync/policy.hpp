// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ways of synchronising as a state machine that does not know whether time is real or virtual.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "cox/model/scenario.hpp"

namespace cox::sync {

/// What a worker may do now.
enum class Ruling : std::uint8_t {
  Go,       ///< begin the next step with the newest parameters
  Wait,     ///< until `released` names it
  Discard,  ///< its update is not used; go on with the newest parameters
};

/// One update that was taken (or not), for the log that every dashboard derives from.
struct Update {
  int worker = 0;
  std::int64_t version_read = 0;
  std::int64_t version_applied = 0;  ///< the version that it was added to, or would have been
  bool applied = true;
  [[nodiscard]] std::int64_t age() const { return version_applied - version_read; }
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
/// nearest that has a meaning.
/// Cost: O(1) amortised per call beside the released, which are sorted. Memory: the log. Pure: no clock, no
/// randomness. Threads: one owner. Held by: src/sync/policy_test.cpp (invariants of clocks and ages)
class Policy {
 public:
  Policy(const model::PolicySpec& spec, int workers);

  /// Worker `w` has finished a step. `released` gets the workers (w among them, where it goes on) that may
  /// begin their next step now, in rank order; it is cleared first.
  Ruling finished(int worker, std::vector<int>& released);
  [[nodiscard]] const std::vector<Update>& log() const { return log_; }
  [[nodiscard]] std::int64_t version() const { return version_; }
  /// Whether the step that just finished synchronises (communicates) at all.
  [[nodiscard]] bool communicates(std::int64_t step) const;
  /// The step that a worker is in, or was in last where it waits.
  [[nodiscard]] std::int64_t clock(int worker) const;
  /// Steps that everybody has finished.
  [[nodiscard]] std::int64_t slowest() const { return slowest_; }
  /// Arrivals that make a new version: all workers, or as many as are waited for.
  [[nodiscard]] int quorum() const;

 private:
  void begin_step(int worker, std::vector<int>& released);
  bool count_step(int worker);
  Ruling meet(int worker, std::vector<int>& released);
  Ruling deliver(int worker, bool moved, std::vector<int>& released);

  model::PolicySpec spec_;
  int workers_;
  std::int64_t version_ = 0;
  std::int64_t slowest_ = 0;
  std::vector<std::int64_t> read_;   ///< version each worker works with
  std::vector<std::int64_t> steps_;  ///< finished by each
  std::vector<std::int64_t> begun_;  ///< steps begun by each
  std::deque<int> at_;               ///< workers that have finished slowest_ + i steps
  std::vector<int> waiting_;
  std::vector<int> members_;  ///< working room; empty between calls
  std::vector<Update> log_;
};

}  // namespace cox::sync
