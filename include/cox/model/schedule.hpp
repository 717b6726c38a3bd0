// SPDX-License-Identifier: Apache-2.0
/// \file
/// A collective as data: who sends how much to whom in which round.
///
/// Written once per algorithm; the engines, the closed forms' tests, the counts of bytes per link, the GOAL
/// export and docs/reference/collectives.md are all derived from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/model/collective.hpp"

namespace cox::model {

/// How a collective is carried out. Names as users write them: `ring`, `recursive-doubling`, ...
enum class Algorithm : std::uint8_t {
  Ring,
  BidirectionalRing,
  BinomialTree,      ///< 2 ceil(log2 P) rounds of the whole buffer: the field's "tree" formula
  BinaryTree,        ///< two children per rank, optionally cut into chunks
  DoubleBinaryTree,  ///< two complementary trees, half of the data each (Sanders, Speck, Traff 2009)
  RecursiveDoubling,
  HalvingDoubling,  ///< Rabenseifner
  Hierarchical2,    ///< reduce-scatter in groups, all-reduce across, all-gather in groups
  Hierarchical3,
  InNetwork,        ///< switches add up
  Direct,           ///< all-to-all: every pair, P - 1 rounds
  TwoLevel,         ///< all-to-all: inside groups, then across
  Dissemination,    ///< barrier
  ParameterServer,  ///< push and pull over `servers` shards
  Chain,            ///< point-to-point pipeline through the ranks in order
};
[[nodiscard]] std::string_view name_of(Algorithm a);
[[nodiscard]] std::optional<Algorithm> algorithm_from_name(std::string_view name);

/// Which collective, by which algorithm, over how many ranks and bytes.
/// `bytes` follows nccl-tests: the whole buffer of one rank (AllGather, ReduceScatter: the gathered one).
struct CollectiveSpec {
  Collective kind = Collective::AllReduce;
  Algorithm algorithm = Algorithm::Ring;
  int ranks = 1;
  Bytes bytes{};
  int group = 1;    ///< ranks per innermost group (hierarchical, two-level)
  int group2 = 1;   ///< innermost groups per middle group (Hierarchical3)
  int servers = 1;  ///< ParameterServer
  int chunks = 1;   ///< trees, chain: pieces that follow each other
  int root = 0;
};

/// One message of a round.
struct Transfer {
  int from = 0;
  int to = 0;
  Bytes bytes{};
  auto operator<=>(const Transfer&) const = default;
};

/// Buffers are cut as evenly as whole bytes allow: chunk i of n bytes in c chunks has n / c bytes, and one
/// more where i < n mod c.
[[nodiscard]] constexpr Bytes chunk_bytes(Bytes n, std::int64_t chunks, std::int64_t i) {
  return Bytes{n.count() / chunks + (i < n.count() % chunks ? 1 : 0)};
}
/// Bytes of chunks [0, i).
[[nodiscard]] constexpr Bytes chunks_before(Bytes n, std::int64_t chunks, std::int64_t i) {
  const std::int64_t more = n.count() % chunks;
  return Bytes{n.count() / chunks * i + (i < more ? i : more)};
}

/// A round in which every participant of [0, ranks) sends exactly one message and receives exactly one, in a
/// form that an engine can sweep. Ranks lie in groups: place i of a group is rank `base + i * stride`, groups
/// of `size` places, and the peers of a rank are in its group:
///   Shift: place i sends to (i + by) mod size.      Xor: place i sends to i ^ by (size a power of two).
/// Bytes that place i sends: chunk_bytes(total, chunks, (i * sign + phase) mod chunks) where `chunks` > 1 and
/// `span` is 1; `span` consecutive chunks from the aligned block of the receiver for halving-doubling; the
/// whole `total` where `chunks` is 1. `bytes_from(place)` is the definition.
struct RegularRound {
  enum class Pattern : std::uint8_t { Shift, Xor };
  Pattern pattern = Pattern::Shift;
  int size = 1;    ///< places per group
  int stride = 1;  ///< distance of neighbouring places in rank numbers
  int by = 1;
  Bytes total{};
  std::int64_t chunks = 1;
  std::int64_t span = 1;
  std::int64_t phase = 0;
  int sign = 1;

  [[nodiscard]] int place_of(int rank) const { return rank / stride % size; }
  [[nodiscard]] int to(int rank) const;
  [[nodiscard]] int from(int rank) const;
  [[nodiscard]] Bytes bytes_from(int rank) const;
};

/// The rounds of a collective.
///
/// Order: a rank enters its round k when all that it receives in its earlier rounds of the lane has arrived.
/// There is no barrier between rounds. Lanes run beside each other on ports of their own (two directions of a
/// ring, two trees); a rank is done when it is done in all of them.
/// Participants: [0, ranks) and, behind them, servers or switches up to `participants()`.
/// Memory: O(1); rounds are made when asked for. Threads: const is safe.
/// Held by: src/model/schedule_test.cpp
class Schedule {
 public:
  /// Errors: model-001 (the algorithm does not do this collective; 0 ranks; a group that does not divide).
  [[nodiscard]] static Result<Schedule> make(const CollectiveSpec& spec);

  [[nodiscard]] const CollectiveSpec& spec() const { return spec_; }
  [[nodiscard]] int ranks() const { return spec_.ranks; }
  [[nodiscard]] int participants() const;
  [[nodiscard]] int lanes() const;
  [[nodiscard]] std::int64_t rounds(int lane = 0) const;
  /// Round k of a lane where it has the regular form.
  [[nodiscard]] std::optional<RegularRound> regular(std::int64_t k, int lane = 0) const;
  /// Its messages in a fixed order, regular or not; clears `out`. A participant that sends (receives) several
  /// in one round does so one after the other in this order.
  void transfers(std::int64_t k, std::vector<Transfer>& out, int lane = 0) const;

 private:
  explicit Schedule(const CollectiveSpec& spec) : spec_(spec) {}
  CollectiveSpec spec_;
};

}  // namespace cox::model
