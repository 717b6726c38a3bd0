// SPDX-License-Identifier: Apache-2.0
#include "model/phases.hpp"

namespace cox::model {
namespace {

using Cut = RegularRound::Cut;

Phase grouped(Move move, std::int64_t rounds, int size, int stride, std::array<Cut, 3> outer = {}) {
  return {.move = move, .rounds = rounds, .size = size, .stride = stride, .outer = outer};
}

// Rounds over the places that a fold leaves, with the fold before and after where ranks are no power of two.
Phases folded(std::initializer_list<Move> moves, int ranks, FoldPart in, FoldPart out) {
  const Fold f(ranks);
  Phase p{.size = f.places, .fold = f.fold};
  Phases all;
  const auto fold = [&](Move move, FoldPart part) {
    p.move = move;
    p.rounds = f.fold > 0 ? 1 : 0;
    p.part = part;
    all.add(p);
  };
  fold(Move::FoldIn, in);
  // Folded places of a scatter or gather hold the chunks of two ranks; an all-reduce cuts as it likes.
  p.part = in == FoldPart::Whole && out == FoldPart::Whole ? FoldPart::Whole : FoldPart::ChunkOfEven;
  const FoldPart cut = p.part;
  for (const Move move : moves) {
    p.move = move;
    p.rounds = floor_log2(f.places);
    p.part = cut;
    all.add(p);
  }
  fold(Move::FoldOut, out);
  return all;
}

Phase tree_phase(Move move, const CollectiveSpec& s, Tree tree) {
  Phase p{.move = move, .size = s.ranks, .tree = tree};
  const int depth = TreeShape{tree, s.ranks}.depth();
  p.rounds = depth == 0 ? 0 : std::int64_t{s.chunks} + depth - 1;
  return p;
}

Phases trees(const CollectiveSpec& s, Tree tree) {
  Phases all;
  if (s.kind != Collective::Broadcast && s.kind != Collective::SendRecv)
    all.add(tree_phase(Move::TreeReduce, s, tree));
  if (s.kind != Collective::Reduce) all.add(tree_phase(Move::TreeBroadcast, s, tree));
  return all;
}

Phases double_trees(const CollectiveSpec& s, int lane) {
  Phases all;
  for (const Move move : {Move::TreeReduce, Move::TreeBroadcast}) {
    Phase p = tree_phase(move, s, Tree::InOrder);
    p.backward = lane == 1;
    p.outer[0] = {.chunks = 2, .phase = lane};
    all.add(p);
  }
  return all;
}

Phases binomial(const CollectiveSpec& s) {
  Phases all;
  const std::int64_t rounds = ceil_log2(s.ranks);
  if (s.kind != Collective::Broadcast) all.add(grouped(Move::BinomialReduce, rounds, s.ranks, 1));
  if (s.kind != Collective::Reduce) all.add(grouped(Move::BinomialBroadcast, rounds, s.ranks, 1));
  return all;
}

Phases servers(const CollectiveSpec& s) {
  Phases all;
  if (s.kind != Collective::Broadcast) all.add(grouped(Move::Push, 1, s.ranks, 1));
  if (s.kind != Collective::Reduce) all.add(grouped(Move::Pull, 1, s.ranks, 1));
  return all;
}

Phases rings(const CollectiveSpec& s, int lane) {
  Phases all;
  const std::int64_t others = s.ranks - 1;
  Phase p;
  if (s.kind == Collective::ReduceScatter) p = grouped(Move::RingReduce, others, s.ranks, 1);
  if (s.kind == Collective::AllGather) p = grouped(Move::RingGather, others, s.ranks, 1);
  if (s.kind == Collective::AllReduce) p = grouped(Move::RingAll, 2 * others, s.ranks, 1);
  if (s.algorithm == Algorithm::BidirectionalRing) {
    p.outer[0] = {.chunks = 2, .phase = lane};
    p.backward = lane == 1;
  } else if (s.channels > 1) {
    p.outer[0] = {.chunks = s.channels, .phase = lane};
  }
  all.add(p);
  return all;
}

// Each level scatters what the level inside it left to this place; the outermost one reduces it. A reduce-scatter
// is the first half, an all-gather the second.
Phases hierarchy(const CollectiveSpec& s) {
  const int g = s.group;
  const int g2 = s.algorithm == Algorithm::Hierarchical3 ? s.group2 : 1;
  const int top = s.ranks / (g * g2);
  const Cut inner{.size = g, .stride = 1, .chunks = g};
  const Cut middle{.size = g2, .stride = g, .chunks = g2};
  const bool reduces = s.kind != Collective::AllGather;
  const bool gathers = s.kind != Collective::ReduceScatter;
  const Move across = !gathers ? Move::RingReduce : !reduces ? Move::RingGather : Move::RingAll;
  Phases all;
  if (reduces) {
    all.add(grouped(Move::RingReduce, g - 1, g, 1));
    all.add(grouped(Move::RingReduce, g2 - 1, g2, g, {inner}));
  }
  all.add(grouped(across, (std::int64_t{reduces} + gathers) * (top - 1), top, g * g2, {inner, middle}));
  if (gathers) {
    all.add(grouped(Move::RingGather, g2 - 1, g2, g, {inner}));
    all.add(grouped(Move::RingGather, g - 1, g, 1));
  }
  return all;
}

// First to the own group's rank that has the receiver's place, then to the receiver's group.
Phases two_level(const CollectiveSpec& s) {
  const int g = s.group;
  const int groups = s.ranks / g;
  Phases all;
  all.add(grouped(Move::Exchange, g - 1, g, 1));
  Phase across = grouped(Move::Exchange, groups - 1, groups, g, {Cut{.size = g, .stride = 1, .chunks = g}});
  across.copies = g;
  all.add(across);
  return all;
}

Phases in_network(const CollectiveSpec& s) {
  Phases all;
  const int stages = switches_of(s) > 1 ? 4 : 2;
  const std::int64_t rounds = s.ranks > 1 ? std::int64_t{s.chunks} + stages - 1 : 0;
  all.add(grouped(Move::Switch, rounds, s.ranks, 1));
  return all;
}

Phases direct(const CollectiveSpec& s) {
  Phases all;
  const Move move = s.kind == Collective::AllGather ? Move::DirectGather : Move::Exchange;
  all.add(grouped(move, s.ranks - 1, s.ranks, 1));
  return all;
}

Phases halving_doubling(const CollectiveSpec& s) {
  if (s.kind == Collective::ReduceScatter)
    return folded({Move::Halving}, s.ranks, FoldPart::Whole, FoldPart::ChunkOfEven);
  return folded({Move::Halving, Move::Doubling}, s.ranks, FoldPart::Whole, FoldPart::Whole);
}

Phases recursive_doubling(const CollectiveSpec& s) {
  if (s.kind == Collective::AllGather)
    return folded({Move::Doubling}, s.ranks, FoldPart::ChunkOfEven, FoldPart::Whole);
  return folded({Move::DoublingAll}, s.ranks, FoldPart::Whole, FoldPart::Whole);
}

}  // namespace

int lanes_of(const CollectiveSpec& s) {
  if (s.algorithm == Algorithm::Ring) return s.channels;
  return s.algorithm == Algorithm::BidirectionalRing || s.algorithm == Algorithm::DoubleBinaryTree ? 2 : 1;
}

// Channels enter nodes at ranks as far apart as they can be: over all network cards of a node.
PlaceOrder order_of(const CollectiveSpec& s, int lane) {
  if (s.algorithm != Algorithm::Ring || s.channels == 1 || s.group == 1) return {};
  const std::int64_t turn = s.channels > s.group ? lane : std::int64_t{lane} * s.group / s.channels;
  return {.node = s.group, .turn = static_cast<int>(turn % s.group)};
}

int switches_of(const CollectiveSpec& s) {
  if (s.algorithm != Algorithm::InNetwork || s.ranks == 1) return 0;
  if (s.group <= 1 || s.group >= s.ranks) return 1;
  return (s.ranks + s.group - 1) / s.group + 1;
}

Phases phases_of(const CollectiveSpec& s, int lane) {
  Phases all;
  switch (s.algorithm) {
    case Algorithm::Ring:
    case Algorithm::BidirectionalRing:
      return rings(s, lane);
    case Algorithm::BinomialTree:
      return binomial(s);
    case Algorithm::BinaryTree:
      return trees(s, Tree::Heap);
    case Algorithm::Chain:
      return trees(s, Tree::Chain);
    case Algorithm::DoubleBinaryTree:
      return double_trees(s, lane);
    case Algorithm::RecursiveDoubling:
      return recursive_doubling(s);
    case Algorithm::HalvingDoubling:
      return halving_doubling(s);
    case Algorithm::Hierarchical2:
    case Algorithm::Hierarchical3:
      return hierarchy(s);
    case Algorithm::InNetwork:
      return in_network(s);
    case Algorithm::Direct:
      return direct(s);
    case Algorithm::TwoLevel:
      return two_level(s);
    case Algorithm::Dissemination:
      all.add(grouped(Move::Signal, ceil_log2(s.ranks), s.ranks, 1));
      return all;
    case Algorithm::ParameterServer:
      return servers(s);
  }
  return all;
}

namespace {

// Distances 1, 2, 4, ... or, halving, the other way; what travels is a block as long as the distance.
void set_blocks(RegularRound& r, const Phase& p, std::int64_t k) {
  r.pattern = RegularRound::Pattern::Xor;
  r.by = p.move == Move::Halving ? p.size >> (k + 1) : 1 << k;
  r.combine = p.move == Move::Doubling ? Combine::Copy : Combine::Add;
  if (p.move == Move::DoublingAll) return;
  r.chunks = p.size;
  r.span = r.by;
  r.flip = p.move == Move::Halving ? r.by : 0;
}

// Chunk numbers count against the direction of the ring, so that the chunk that came in goes out next.
void set_ring(RegularRound& r, const Phase& p, std::int64_t k) {
  r.by = p.backward ? p.size - 1 : 1;
  r.chunks = p.size;
  const std::int64_t back = p.move == Move::RingReduce ? k + 1 : k;
  r.phase = (p.backward ? back : 2 * std::int64_t{p.size} - back) % p.size;
  const bool reduces = p.move == Move::RingReduce || (p.move == Move::RingAll && k < p.size - 1);
  r.combine = reduces ? Combine::Add : Combine::Copy;
}

}  // namespace

std::optional<RegularRound> regular_round(const CollectiveSpec& s, const Phase& p, std::int64_t k) {
  if (p.fold > 0) return std::nullopt;
  RegularRound r;
  r.size = p.size;
  r.stride = p.stride;
  r.total = s.bytes;
  r.outer = p.outer;
  r.copies = p.copies;
  switch (p.move) {
    case Move::RingAll:
    case Move::RingReduce:
    case Move::RingGather:
      set_ring(r, p, k);
      return r;
    case Move::Exchange:
    case Move::DirectGather:
      r.by = static_cast<int>(k + 1);
      r.chunks = p.size;
      r.phase = p.move == Move::Exchange ? k + 1 : 0;
      r.combine = s.kind == Collective::ReduceScatter ? Combine::Add : Combine::Copy;
      return r;
    case Move::Signal:
      r.by = 1 << k;
      return r;
    case Move::Halving:
    case Move::Doubling:
    case Move::DoublingAll:
      set_blocks(r, p, k);
      return r;
    default:
      return std::nullopt;
  }
}

}  // namespace cox::model
