// SPDX-License-Identifier: Apache-2.0
/// \file
/// Gossip: workers that wait for their neighbours on a graph and for nobody else.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cox/sync/gossip_graph.hpp"
#include "cox/sync/stream.hpp"

namespace cox::sync {

/// A worker begins round r + 1 when it and those whom it hears in round r have ended r. The stream goes by rounds: a version is
/// a round that all have ended, so that parameters are those of D-PSGD (Lian et al. 2017) in whatever order workers come, and
/// what somebody who is ahead has ended is told when the round before is complete.
/// Cost: O(workers) per call. Pure: no clock. Threads: one owner.
/// Held by: src/sync/gossip_test.cpp (the ledger at every event; clocks of neighbours are one apart at most)
class Gossip {
 public:
  /// Pre: the workers make the graph (asserted).
  Gossip(const GossipSpec& graph, int workers);
  [[nodiscard]] const Neighbours& neighbours() const { return neighbours_; }
  /// Worker `worker` has ended its round, and its parameters are where they are heard. `released`: who begins the next round now,
  /// in rank order; it is cleared first.
  void delivered(int worker, std::vector<int>& released);
  /// What the last call made happen, in order; until the next one.
  [[nodiscard]] std::span<const StreamEvent> events() const { return events_; }
  /// Rounds that all have ended.
  [[nodiscard]] std::int64_t version() const { return version_; }
  /// The round that a worker is in, or has ended and waits behind.
  [[nodiscard]] std::int64_t round(int worker) const { return begun_[static_cast<std::size_t>(worker)]; }

 private:
  [[nodiscard]] bool may_begin(int worker) const;
  void tell(int worker);

  Neighbours neighbours_;
  int workers_;
  std::int64_t version_ = 0;
  std::vector<std::int64_t> begun_;  ///< round, by worker
  std::vector<std::int64_t> ended_;  ///< rounds, by worker
  int there_ = 0;                    ///< who has ended round `version_`
  std::vector<int> told_later_;      ///< who has ended a later one, in order of time; once for each round
  std::vector<StreamEvent> events_;
};

}  // namespace cox::sync
