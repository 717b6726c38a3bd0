// SPDX-License-Identifier: Apache-2.0
/// \file
/// Asynchronous gossip: a worker takes the mean with one neighbour at a time, and waits for nobody else.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cox/sync/gossip_graph.hpp"
#include "cox/sync/stream.hpp"

namespace cox::sync {

/// Workers have two sides that hear only each other (a bipartite graph). Those of one side ask: whoever has computed draws a neighbour, and both
/// take the mean of their parameters; then it applies its gradient, which it has computed at what it had before. The others answer, one
/// after the other in the order in which they are asked, and otherwise compute and apply on their own. Who answers is never waiting for an
/// answer, so nobody waits in a circle. Source: AD-PSGD (Lian et al. 2018), algorithm 1 with its two sets.
/// An exchange locks both: a worker that ends its step in one applies its gradient when it is over.
/// Stream: each gradient makes a version of the mean of all, so ages are gradients of others that came between; an exchange is an Averaged.
/// Cost: O(1) per call. Pure: no clock. Threads: one owner.
/// Held by: src/sync/pairs_test.cpp (the ledger at every event; nobody waits for ever, in whatever order things end)
class Pairs {
 public:
  struct Exchange {
    int by = 0;
    int with = 0;
  };
  /// `seed`: of the neighbours that are drawn. Pre: the workers make the graph, and it has two sides (asserted).
  Pairs(const Neighbours& graph, std::uint64_t seed);
  /// Worker `worker` has its gradient.
  void computed(int worker);
  /// The exchange that `by` is in is over.
  void exchanged(int by);
  /// What the last call made happen, in order; until the next one.
  [[nodiscard]] std::span<const StreamEvent> events() const { return events_; }
  /// Who computes its next step from now on.
  [[nodiscard]] std::span<const int> released() const { return released_; }
  /// Exchanges that begin now.
  [[nodiscard]] std::span<const Exchange> begun() const { return begun_; }
  [[nodiscard]] std::int64_t version() const { return version_; }
  [[nodiscard]] bool asks(int worker) const { return workers_[static_cast<std::size_t>(worker)].asks; }

 private:
  struct Worker {
    bool asks = false;
    bool in_exchange = false;
    bool waits = false;  ///< answers, and has a gradient that its exchange keeps from being applied
    int with = -1;       ///< asks: whom it has asked
    std::int64_t step = 0;
    std::int64_t read = 0;
    std::vector<int> asked_by{};  ///< in order of time
  };
  Worker& of(int worker) { return workers_[static_cast<std::size_t>(worker)]; }
  void clear();
  void apply(int worker);
  void begin_next(int answers);

  Neighbours graph_;
  std::uint64_t seed_;
  std::vector<Worker> workers_;
  std::int64_t version_ = 0;
  std::vector<StreamEvent> events_;
  std::vector<int> released_;
  std::vector<Exchange> begun_;
};

/// Who asks, of a graph with two sides: the larger one, or the one with worker 0. Pre: it has two (asserted).
[[nodiscard]] std::vector<char> who_asks(const Neighbours& graph);

/// Why these workers do not exchange in pairs on the graph; empty where they do.
[[nodiscard]] std::string pairs_misfit(const GossipSpec& spec, int workers);

}  // namespace cox::sync
