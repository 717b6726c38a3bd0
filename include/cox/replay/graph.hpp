// SPDX-License-Identifier: Apache-2.0
/// \file
/// One max-plus evaluation of an operation graph: when everything happens,
/// why then, and what would change it.
///
/// Whoever asks builds a Graph (from a recording or from a schedule) and replays it with as many sets of
/// durations as there are questions. The room knows no rank, no collective and no cause.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "cox/base/units.hpp"

namespace cox::replay {

/// Index of an operation in its graph.
using Node = std::uint32_t;
inline constexpr Node kNoNode = std::numeric_limits<Node>::max();

/// Operations and what each waits for. Nodes are added in an order in which every predecessor comes first, so
/// a graph has no cycle by construction.
///
/// Memory: 8 bytes per node and 4 per edge, 8 more per edge where any has a lag.
class Graph {
 public:
  /// Adds an operation that begins when all of `before` have finished. Predecessors must exist already
  /// (asserted). Errors: none. Cost: O(predecessors).
  Node add(std::span<const Node> before);
  /// The same with one predecessor, or none where it is kNoNode.
  Node add(Node before = kNoNode);
  /// The same, where begin >= finish(before[i]) + lags[i]: latency of a message, or a gap that stays.
  Node add(std::span<const Node> before, std::span<const Duration> lags);
  void reserve(std::size_t nodes, std::size_t edges);

  [[nodiscard]] std::size_t size() const { return first_.size() - 1; }
  [[nodiscard]] std::size_t edges() const { return before_.size(); }
  [[nodiscard]] std::span<const Node> before(Node node) const {
    return std::span(before_).subspan(first_[node], first_[node + 1] - first_[node]);
  }
  [[nodiscard]] Duration lag(Node node, std::size_t which) const {
    return lags_.empty() ? Duration::zero() : lags_[first_[node] + which];
  }
  [[nodiscard]] bool has_lags() const { return !lags_.empty(); }

  /// The columns themselves, for loops that must be fast: predecessors of node i are
  /// `all_before()[first_before()[i] .. first_before()[i + 1])`; `all_lags()` is parallel, or empty.
  [[nodiscard]] std::span<const std::uint64_t> first_before() const { return first_; }
  [[nodiscard]] std::span<const Node> all_before() const { return before_; }
  [[nodiscard]] std::span<const Duration> all_lags() const { return lags_; }

 private:
  std::vector<std::uint64_t> first_{0};
  std::vector<Node> before_;
  std::vector<Duration> lags_;
};

/// When each operation finished.
struct Timeline {
  std::vector<Duration> finish;
  Duration makespan{};  ///< latest finish; zero for an empty graph
  Node last = kNoNode;  ///< lowest node of those that finish then
};

/// Evaluates a graph.
///
/// Formula: begin(i) = max over p in before(i) of finish(p) + lag(p, i), or the release time, or zero;
///          finish(i) = begin(i) + duration(i).
/// Units:   durations as given; sums stop at the range of `Duration`.
/// Errors:  `durations` has another size than the graph: asserted. Negative durations count as zero.
/// Threads: none of its own; one graph may be replayed by many threads at once.
/// Cost:    O(nodes + edges), no allocation beyond the result.
/// Source:  Baccelli et al., Synchronization and Linearity (1992), section 2; max-plus recursion.
/// Held by: src/replay/replay_test.cpp, tests/property/replay_laws.cpp
[[nodiscard]] Timeline replay(const Graph& graph, std::span<const Duration> durations);
/// The same, where operations also begin no earlier than `release` (empty: no such times).
[[nodiscard]] Timeline replay(const Graph& graph, std::span<const Duration> durations,
                              std::span<const Duration> release);
/// Only the makespan, reusing `finish` as working room.
[[nodiscard]] Duration makespan(const Graph& graph, std::span<const Duration> durations,
                                std::vector<Duration>& finish);

/// The operations that decide the makespan, first to last; among equal predecessors the lowest node counts.
/// Durations and lags along it, and the release of its first operation, add up to the makespan (where nothing
/// stopped at the range of `Duration`). Cost: O(edges into the path).
[[nodiscard]] std::vector<Node> critical_path(const Graph& graph, std::span<const Duration> durations,
                                              const Timeline& timeline);

/// How much longer each operation could last without moving the makespan (0 on the critical path).
/// Formula: latest(i) = min(makespan, min over successors j of latest(j) - duration(j) - lag(i, j));
///          slack(i) = latest(i) - finish(i). Source: Kelley, Walker 1959 (critical path method).
/// Cost: O(nodes + edges).
[[nodiscard]] std::vector<Duration> slack(const Graph& graph, std::span<const Duration> durations,
                                          const Timeline& timeline);

/// How the makespan answers to a small change: one sided derivatives by class of operation.
/// `classes[i]` is the class of operation i, below `count`. Result[c] = d makespan / d x, where every
/// duration of class c is longer by x times its weight; weights empty = 1 each (so the result counts
/// operations on the path); weights = bytes gives the answer to a change of time per byte, weights = messages
/// to a change of latency. Where several paths are equally long, this is the answer along the given one.
[[nodiscard]] std::vector<double> sensitivities(std::span<const Node> path,
                                                std::span<const std::uint32_t> classes, std::size_t count,
                                                std::span<const double> weights = {});

}  // namespace cox::replay
