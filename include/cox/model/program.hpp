// SPDX-License-Identifier: Apache-2.0
/// \file
/// A program: what ranks do, and what waits for what.
///
/// The one form in which operations travel between rooms. Importers fill it, `replay` evaluates it,
/// the engines of `simulate` run it. What really happened on a day is a `trace::Run`.
/// docs/design/0011-one-program.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "cox/base/ids.hpp"
#include "cox/base/units.hpp"
#include "cox/model/collective.hpp"

namespace cox::model {

/// Place of an operation in its program.
using OperationIndex = std::uint32_t;
inline constexpr OperationIndex kNoOperation = std::numeric_limits<OperationIndex>::max();

enum class OperationKind : std::uint8_t {
  Compute = 0,
  Collective = 1,
  Send = 2,
  Receive = 3,
  Memory = 4,
  Other = 5,
};
inline constexpr std::size_t kOperationKinds = 6;

/// A time that is not known.
inline constexpr Duration kNoDuration = Duration::min();
inline constexpr CommId kNoComm{-1};
inline constexpr std::uint32_t kAnyPeer = 0xffffffff;
inline constexpr std::uint32_t kAnyTag = 0xffffffff;

/// What each operation waits for. Nobody checks that operations are added after what they wait for; who needs
/// that asks `is_ordered`, and then there is no cycle.
///
/// Memory: 8 bytes per operation and 4 per edge; 8 more per edge where any has a lag. Held by: src/model/program_test.cpp, src/replay/replay_test.cpp
class Dependencies {
 public:
  Dependencies() = default;
  /// From columns: operation i waits for `before[first[i] .. first[i + 1])`. Errors: none; columns that do
  /// not fit are asserted.
  Dependencies(std::vector<std::uint64_t> first, std::vector<OperationIndex> before);

  /// Adds an operation that begins when all of `before` have finished. Cost: O(predecessors).
  OperationIndex add(std::span<const OperationIndex> before);
  /// The same with one predecessor, or none where it is kNoOperation.
  OperationIndex add(OperationIndex before = kNoOperation);
  /// The same, where begin >= finish(before[i]) + lags[i]: latency of a message, or a gap that stays.
  OperationIndex add(std::span<const OperationIndex> before, std::span<const Duration> lags);
  void reserve(std::size_t operations, std::size_t edges);

  [[nodiscard]] std::size_t size() const { return first_.size() - 1; }
  [[nodiscard]] std::size_t edges() const { return before_.size(); }
  [[nodiscard]] std::span<const OperationIndex> before(OperationIndex i) const {
    return std::span(before_).subspan(first_[i], first_[i + 1] - first_[i]);
  }
  [[nodiscard]] Duration lag(OperationIndex i, std::size_t which) const {
    return lags_.empty() ? Duration::zero() : lags_[first_[i] + which];
  }
  [[nodiscard]] bool has_lags() const { return !lags_.empty(); }
  /// Whether every operation stands behind all that it waits for.
  [[nodiscard]] bool is_ordered() const { return is_ordered_; }

  /// The columns themselves, for loops that must be fast; `all_lags()` is parallel
  /// to `all_before()`, or empty.
  [[nodiscard]] std::span<const std::uint64_t> first_before() const { return first_; }
  [[nodiscard]] std::span<const OperationIndex> all_before() const { return before_; }
  [[nodiscard]] std::span<const Duration> all_lags() const { return lags_; }

  bool operator==(const Dependencies&) const = default;

 private:
  std::vector<std::uint64_t> first_{0};
  std::vector<OperationIndex> before_;
  std::vector<Duration> lags_;
  bool is_ordered_ = true;
};

/// Place of a rank in the parallel layout; -1 = not known or no such dimension.
struct Role {
  int data = -1;
  int tensor = -1;
  int pipeline = -1;  ///< stage
  int expert = -1;

  auto operator<=>(const Role&) const = default;
};

/// Who carries out operations.
struct ProgramRank {
  Rank rank;
  Role role{};
};

/// Ranks that communicate together, or the two ends of a channel.
struct ProgramGroup {
  std::string name;
  int size = 0;  ///< members as declared; 0 = not known
};

/// Operations as columns. A column that nobody filled is empty; else it has `size()` entries.
struct Program {
  std::vector<ProgramRank> ranks;    ///< by rank
  std::vector<ProgramGroup> groups;  ///< by CommId
  std::vector<std::string> names;
  int world_size = 0;     ///< ranks of the whole job; 0 = not known
  bool is_calls = false;  ///< edges say who called whom instead of who waits for whom

  std::vector<std::uint32_t> rank;  ///< index into `ranks`
  std::vector<OperationKind> kind;
  std::vector<std::uint32_t> name;  ///< index into `names`: type (table) or name (graph)
  std::vector<Duration> begin;      ///< as recorded; kNoDuration = not known
  std::vector<Duration> duration;   ///< kNoDuration = not known
  std::vector<Bytes> bytes;
  std::vector<CommId> comm;            ///< index into `groups`; kNoComm = none
  std::vector<Collective> collective;  ///< which one, of a Collective
  std::vector<std::uint32_t> peer;     ///< of a Send or Receive: index into `ranks`, or kAnyPeer
  std::vector<std::uint32_t> tag;      ///< of the same; kAnyTag
  std::vector<std::int32_t> step;      ///< -1 = none, as below
  std::vector<std::int32_t> micro_batch;
  std::vector<std::int32_t> chunk;     ///< model chunk (interleaved pipelines)
  std::vector<std::int32_t> sequence;  ///< position in the program's order of this kind of operation
  std::vector<std::uint8_t> stream;    ///< of execution, within the rank
  std::vector<std::uint8_t> port;      ///< into the network, within the rank
  /// Empty where nothing says who waits for whom (a table: the order of the operations has to tell).
  Dependencies needs;

  /// Operations.
  [[nodiscard]] std::size_t size() const { return rank.empty() ? needs.size() : rank.size(); }
  [[nodiscard]] bool is_empty() const { return size() == 0; }
  /// Whether it says what its operations wait for.
  [[nodiscard]] bool is_graph() const { return size() > 0 && needs.size() == size(); }
  /// Whether there are operations, and only their times tell their order.
  [[nodiscard]] bool is_table() const { return size() > 0 && needs.size() == 0; }
  /// Group of an operation, or null where it has none.
  [[nodiscard]] const ProgramGroup* group_of(std::size_t i) const {
    const auto at = comm.empty() ? -1 : comm[i].value();
    return at < 0 || static_cast<std::size_t>(at) >= groups.size() ? nullptr
                                                                   : &groups[static_cast<std::size_t>(at)];
  }
};

}  // namespace cox::model
