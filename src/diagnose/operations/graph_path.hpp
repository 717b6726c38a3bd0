// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a graph of operations says of the pace: its longest chain, and who and what is on it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/ids.hpp"
#include "cox/base/units.hpp"
#include "cox/model/program.hpp"

namespace cox::diagnose {

/// Operations of one kind.
struct GraphKind {
  model::OperationKind kind = model::OperationKind::Other;
  std::int64_t operations = 0;
  std::int64_t timed = 0;  ///< of them, with a duration
  Duration work{};         ///< sum of their durations
  Duration on_path{};      ///< time of the critical path in them
};

/// Operations of one rank.
struct GraphRank {
  Rank rank;
  std::int64_t operations = 0;
  Duration work{};
  Duration on_path{};
};

/// Operations of one name that are on the critical path.
struct GraphName {
  std::string name;
  std::int64_t operations = 0;  ///< of that name on the path
  Duration on_path{};
};

/// Names of which `GraphTimes::names` holds the longest.
inline constexpr std::size_t kGraphNames = 10;

struct GraphTimes {
  Duration makespan{};
  Duration work{};               ///< of all operations
  double parallelism_ratio = 0;  ///< work over makespan: how many operations ran at a time, on average
  std::int64_t path_operations = 0;
  std::vector<GraphName> names;      ///< longest first, then by name; at most `kGraphNames`
  std::optional<Duration> recorded;  ///< first begin to last end by the clock, where all timed ones have both
};

struct GraphPath {
  std::int64_t operations = 0;
  std::int64_t edges = 0;               ///< as read
  std::int64_t messages = 0;            ///< sends matched with receives here
  std::int64_t unmatched = 0;           ///< sends and receives that name a channel and have no counterpart
  std::int64_t joined_collectives = 0;  ///< of which two ranks or more are in the graph
  std::vector<GraphKind> kinds;         ///< those that occur, by kind
  std::vector<GraphRank> ranks;         ///< as in the program
  std::optional<GraphTimes> times;      ///< nothing where durations or an order are missing
  std::vector<std::string> limits;      ///< what cannot be told, and why; sentences
};

/// Evaluates a program as a graph; nothing where it has none with edges.
///
/// Ranks are tied by messages (the k-th send of a channel before its k-th receive) and by collectives (the
/// k-th of a communicator begins on all its members together). A duration on a clock contains the wait for
/// the others, so the replay gives all members the shortest of a collective, and a receive at most its
/// send's. What has no duration counts as zero. If tying the ranks closes a circle, they are not tied.
/// Formula: begin = max over predecessors of their end; makespan = max of all ends (max-plus).
/// Errors:  none; what is missing is in `limits`.
/// Cost:    O((operations + edges) log operations), no recursion.
/// Held by: src/diagnose/operations/graph_path_test.cpp
[[nodiscard]] std::optional<GraphPath> find_graph_path(const model::Program& program);

/// A few plain lines; never empty.
[[nodiscard]] std::vector<std::string> describe(const GraphPath& path);

}  // namespace cox::diagnose
