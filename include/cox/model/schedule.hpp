// SPDX-License-Identifier: Apache-2.0
/// \file
/// A collective as data: who sends how much to whom in which round.
///
/// Written once per algorithm; the engines, the closed forms' tests, the counts of bytes per link, the GOAL
/// export and docs/reference/collectives.md are all derived from it.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
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
  BinaryTree,        ///< two children per rank, cut into chunks
  DoubleBinaryTree,  ///< two complementary trees, half of the data each (Sanders, Speck, Traff 2009)
  RecursiveDoubling,
  HalvingDoubling,  ///< Rabenseifner
  Hierarchical2,    ///< reduce-scatter in groups, all-reduce across, all-gather in groups
  Hierarchical3,
  InNetwork,        ///< switches add up: one, or leaves of `group` ranks below one
  Direct,           ///< all-to-all: every pair, P - 1 rounds
  TwoLevel,         ///< all-to-all: inside groups, then across
  Dissemination,    ///< barrier
  ParameterServer,  ///< push and pull over `servers` shards
  Chain,            ///< point-to-point pipeline through the ranks in order
};
/// names and words of scenario files go up to it
inline constexpr Algorithm kLastAlgorithm = Algorithm::Chain;
[[nodiscard]] std::string_view name_of(Algorithm a);

/// Which collective, by which algorithm, over how many ranks and bytes.
/// `bytes` follows nccl-tests: the whole buffer of one rank (AllGather, ReduceScatter: the gathered one).
struct CollectiveSpec {
  Collective kind = Collective::AllReduce;
  Algorithm algorithm = Algorithm::Ring;
  int ranks = 1;
  Bytes bytes{};
  int group = 1;     ///< ranks per innermost group (hierarchical, two-level), per node (ring of several
                     ///< channels), per leaf switch (in-network)
  int group2 = 1;    ///< innermost groups per middle group (Hierarchical3)
  int servers = 1;   ///< ParameterServer: shards; participants [ranks, ranks + servers)
  int chunks = 1;    ///< trees, chain, in-network: pieces that follow each other
  int root = 0;      ///< broadcast, reduce
  int channels = 1;  ///< Ring: so many beside each other, an equal part of the bytes each
};

/// What the receiver does with the bytes.
enum class Combine : std::uint8_t {
  Copy,  ///< they replace (all-to-all, barrier: they are kept beside) what is there
  Add,   ///< they are added to what is there
};

/// One message of a round: `bytes` from `offset` of the sender's buffer. Two-level all-to-all gathers its
/// message from several places; `offset` is then the first byte of the nested cut and says nothing more.
struct Transfer {
  int from = 0;
  int to = 0;
  Bytes bytes{};
  Bytes offset{};
  Combine combine = Combine::Copy;
  auto operator<=>(const Transfer&) const = default;
};

/// Which rank sits on which place of a lane. Nodes of `node` neighbouring ranks follow each other; inside one the
/// places go round from its rank `turn` on, and backwards in every other node, so that a hop between nodes joins
/// ranks of the same number. One rank a node: place i is rank i.
struct PlaceOrder {
  int node = 1;
  int turn = 0;
  [[nodiscard]] int rank_at(int place) const;
  [[nodiscard]] int place_of(int rank) const;
  [[nodiscard]] bool is_plain() const { return node == 1; }
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
/// What place i sends, `part_from(rank)` is the definition: the buffer is cut by `outer` (one cut inside the
/// other, each keeping one piece), what is left into `chunks`; the message is `span` chunks from
/// ((i ^ flip) * sign + phase) mod chunks on, rounded down to a multiple of span; `copies` times as much.
struct RegularRound {
  enum class Pattern : std::uint8_t { Shift, Xor };
  /// Keeps piece (rank / stride mod size + phase) mod chunks.
  struct Cut {
    int size = 1;
    int stride = 1;
    std::int64_t chunks = 1;
    std::int64_t phase = 0;
    auto operator<=>(const Cut&) const = default;
  };
  /// Bytes [offset, offset + bytes) of the buffer.
  struct Part {
    Bytes offset{};
    Bytes bytes{};
  };

  Pattern pattern = Pattern::Shift;
  Combine combine = Combine::Copy;
  int size = 1;    ///< places per group
  int stride = 1;  ///< distance of neighbouring places in rank numbers
  int by = 1;
  Bytes total{};
  std::int64_t chunks = 1;
  std::int64_t span = 1;
  std::int64_t phase = 0;
  int sign = 1;
  int flip = 0;
  int copies = 1;  ///< two-level all-to-all: blocks of as many ranks travel together
  std::array<Cut, 3> outer{};

  [[nodiscard]] int place_of(int rank) const { return rank / stride % size; }
  [[nodiscard]] int to(int rank) const;
  [[nodiscard]] int from(int rank) const;
  [[nodiscard]] Part part_from(int rank) const;
  [[nodiscard]] Bytes bytes_from(int rank) const { return part_from(rank).bytes; }
  /// Whether all ranks send equally much (then `bytes_from(0)`).
  [[nodiscard]] bool uniform() const;
  auto operator<=>(const RegularRound&) const = default;
};

/// The rounds of a collective.
///
/// Lanes run beside each other on ports of their own (two directions of a ring, two trees); a rank is done
/// when it is done in all of them. There is no barrier between the rounds of a lane.
/// Participants: [0, ranks) and, behind them, servers or switches up to `participants()`.
///
/// Time of a round, for every engine (rendezvous; t = when a participant is ready for the round):
///   regular: t'[r] = max(t[r], t[from(r)]) + cost(bytes).
///   list, message by message in the order of `transfers`; in-ports are free when the round begins:
///     start = max(t[from], t[to], out[from]);          out[from] = start + occupied
///     complete = max(start + latency, in[to]) + occupied;   in[to] = complete
///   and a participant goes on when all its messages of the round, in and out, are complete;
///   one that receives one message and sends at most one goes on as soon as that receive is complete
///   (as in a regular round). A switch (`is_switch`) has a port for each message:
///   neither its `out` nor its `in` hold anything up.
/// All rounds of a schedule are regular, or all are lists.
/// Memory: O(1); rounds are made when asked for. Threads: const is safe.
/// Held by: src/model/schedule_test.cpp
class Schedule {
 public:
  /// Errors: model-001 (the algorithm does not do this collective; 0 ranks; a group that does not divide).
  [[nodiscard]] static Result<Schedule> make(const CollectiveSpec& spec);

  [[nodiscard]] const CollectiveSpec& spec() const { return spec_; }
  [[nodiscard]] int ranks() const { return spec_.ranks; }
  [[nodiscard]] int participants() const;
  [[nodiscard]] bool is_switch(int participant) const;
  [[nodiscard]] int lanes() const;
  [[nodiscard]] std::int64_t rounds(int lane = 0) const;
  [[nodiscard]] PlaceOrder order(int lane = 0) const;
  /// Round k of a lane where it has the regular form: over places, which `order` makes ranks. Cost: O(1).
  [[nodiscard]] std::optional<RegularRound> regular(std::int64_t k, int lane = 0) const;
  /// Its messages in a fixed order, regular or not; clears `out`. A participant that sends (receives) several
  /// in one round does so one after the other in this order. Cost: O(ranks), trees O(ranks log ranks).
  void transfers(std::int64_t k, std::vector<Transfer>& out, int lane = 0) const;

 private:
  struct Plan;
  Schedule(const CollectiveSpec& spec, std::shared_ptr<const Plan> plan)
      : spec_(spec), plan_(std::move(plan)) {}
  CollectiveSpec spec_;
  std::shared_ptr<const Plan> plan_;  ///< the phases, worked out once
};

/// Bytes that each participant sends in all. Cost: O(messages).
/// Held by: src/model/schedule_test.cpp (2 n (P - 1) / P of a ring, and the others' known sums)
[[nodiscard]] std::vector<Bytes> bytes_sent(const Schedule& schedule);

}  // namespace cox::model
