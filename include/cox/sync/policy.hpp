// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ways of synchronising as a state machine that does not know whether time is real or virtual.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cox/model/scenario.hpp"

namespace cox::sync {

/// What a worker may do now.
enum class Verdict : std::uint8_t {
  Go,       ///< begin the next step with the newest parameters
  Wait,     ///< until `released` names it
  Discard,  ///< its update is not used; go on with the newest parameters
};

/// One update that was taken (or not), for the log that every dashboard derives from.
struct Update {
  int worker = 0;
  std::int64_t version_read = 0;
  std::int64_t version_applied = 0;
  bool applied = true;
  [[nodiscard]] std::int64_t age() const { return version_applied - version_read; }
};

/// The rules of one job of `workers` workers.
///   Synchronous:    version v + 1 exists once all workers have delivered v.
///   Backup(b):      once workers - b have; late updates of v are discarded.
///   BoundedWait(s): an update is applied when it comes; a worker waits while it is more than s steps ahead
///   of the slowest. BoundedDiscard(s): an update older than s versions is dropped. Asynchronous:   every
///   update is applied when it comes. LocalSgd(K):    as Synchronous every K-th step, Go in between.
/// Cost: O(log workers) amortised per call. Pure: no clock, no randomness. Threads: one owner.
/// Held by: src/sync/policy_test.cpp (invariants of chapter-part3 section 7, items 5 and 6)
class Policy {
 public:
  Policy(const model::PolicySpec& spec, int workers);

  /// Worker `w` has finished a step. `released` gets the workers (w among them, where it goes on) that may
  /// begin their next step now, in rank order.
  Verdict finished(int worker, std::vector<int>& released);
  [[nodiscard]] const std::vector<Update>& log() const { return log_; }
  [[nodiscard]] std::int64_t version() const { return version_; }
  /// Whether the step that just finished synchronises (communicates) at all.
  [[nodiscard]] bool communicates(std::int64_t step) const;

 private:
  model::PolicySpec spec_;
  int workers_;
  std::int64_t version_ = 0;
  std::vector<std::int64_t> read_;   ///< version each worker works with
  std::vector<std::int64_t> steps_;  ///< finished by each
  std::vector<int> waiting_;
  std::vector<Update> log_;
};

}  // namespace cox::sync
