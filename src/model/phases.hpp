// SPDX-License-Identifier: Apache-2.0
/// \file
/// The one description of the collectives: each is a few phases in a row, and a phase knows its rounds.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cox/model/schedule.hpp"

namespace cox::model {

/// How a phase moves data. The first group is regular; the others are lists.
enum class Move : std::uint8_t {
  RingAll,       ///< reduce-scatter and all-gather in one sequence of chunk numbers
  RingReduce,    ///< place i ends with chunk i
  RingGather,    ///< place i begins with chunk i
  Exchange,      ///< every place to every other, one distance a round; sends the receiver's chunk
  DirectGather,  ///< the same distances; sends the sender's chunk
  Signal,        ///< distances 1, 2, 4, ...; the whole buffer
  Halving,       ///< distances size / 2, ..., 2, 1: half of what is left goes to the partner
  Doubling,      ///< distances 1, 2, 4, ...: all that is there goes to the partner
  DoublingAll,   ///< the same distances; the whole buffer, added

  FoldIn,   ///< rank 2 j to 2 j + 1, for j < fold
  FoldOut,  ///< and back
  BinomialReduce,
  BinomialBroadcast,
  TreeReduce,
  TreeBroadcast,
  Switch,
  Push,
  Pull,
};

/// Shape of a tree over places [0, size) with root 0.
enum class Tree : std::uint8_t {
  Chain,    ///< 0 - 1 - 2 - ...
  Heap,     ///< children of v: 2 v + 1, 2 v + 2
  InOrder,  ///< 0 above an in-order tree over 1 .. size - 1; odd places are leaves (Sanders, Speck, Traff 2009)
};

/// A tree's places by shape and number. Cost: O(log size) at most.
struct TreeShape {
  Tree tree = Tree::Heap;
  int size = 1;

  [[nodiscard]] int depth() const;  ///< of the deepest place
  /// Children in the order in which they are served; -1 = none.
  [[nodiscard]] std::array<int, 2> children(int v) const;
  /// Chain and heap: where a place is, and the places [first, second) of depths [lo, hi].
  [[nodiscard]] int depth_of(int v) const;
  [[nodiscard]] std::array<int, 2> places_at(std::int64_t lo, std::int64_t hi) const;
};

/// What FoldIn and FoldOut carry.
enum class FoldPart : std::uint8_t { Whole, ChunkOfEven };

struct Phase {
  Move move = Move::RingAll;
  std::int64_t rounds = 0;
  int size = 1;    ///< places per group
  int stride = 1;  ///< of neighbouring places in rank numbers
  int fold = 0;    ///< of the first 2 * fold ranks, the even ones have folded into the odd ones
  FoldPart part = FoldPart::Whole;
  Tree tree = Tree::Heap;
  bool backward = false;  ///< ring: towards lower places; tree: the complementary numbering
  int copies = 1;
  std::array<RegularRound::Cut, 3> outer{};
};

/// The phases of one lane, in order.
struct Phases {
  std::array<Phase, 5> of{};
  int count = 0;
  void add(const Phase& p) {
    if (p.rounds > 0) of.at(static_cast<std::size_t>(count++)) = p;
  }
};

/// What there is: who does which collective, and how long it takes.
struct Entry {
  Collective kind;
  Algorithm algorithm;
  std::string_view formula;
};
[[nodiscard]] std::span<const Entry> entries();

[[nodiscard]] int lanes_of(const CollectiveSpec& spec);
[[nodiscard]] PlaceOrder order_of(const CollectiveSpec& spec, int lane);
[[nodiscard]] int switches_of(const CollectiveSpec& spec);
[[nodiscard]] Phases phases_of(const CollectiveSpec& spec, int lane);
[[nodiscard]] std::optional<RegularRound> regular_round(const CollectiveSpec& spec, const Phase& phase,
                                                        std::int64_t k);
void list_round(const CollectiveSpec& spec, const Phase& phase, std::int64_t k, std::vector<Transfer>& out);

/// floor(log2 n) and ceil(log2 n), n > 0.
[[nodiscard]] constexpr int floor_log2(std::int64_t n) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n))) - 1;
}
[[nodiscard]] constexpr int ceil_log2(std::int64_t n) {
  return n <= 1 ? 0 : floor_log2(n - 1) + 1;
}

/// Ranks that remain when the even ones of the first 2 * fold have folded: the largest power of two.
struct Fold {
  int places = 1;
  int fold = 0;
  explicit constexpr Fold(int ranks)
      : places(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))), fold(ranks - places) {}
};

}  // namespace cox::model
