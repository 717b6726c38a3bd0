// SPDX-License-Identifier: Apache-2.0
// Rounds that are lists: folds, trees, switches, servers.
#include <algorithm>

#include "model/phases.hpp"

namespace cox::model {
namespace {

using Part = RegularRound::Part;

Part chunks_of(Part p, std::int64_t chunks, std::int64_t first, std::int64_t last) {
  const Bytes begin = chunks_before(p.bytes, chunks, first);
  return {p.offset + begin, chunks_before(p.bytes, chunks, last) - begin};
}

// What the lane works on.
Part region_of(const CollectiveSpec& s, const Phase& p) {
  Part part{Bytes{0}, s.bytes};
  for (const auto& c : p.outer)
    if (c.chunks > 1) part = chunks_of(part, c.chunks, c.phase, c.phase + 1);
  return part;
}

struct Writer {
  std::vector<Transfer>& out;
  Combine combine;
  void send(int from, int to, Part part) const {
    out.push_back({from, to, part.bytes, part.offset, combine});
  }
};

// Folded places: place j < fold stands for ranks 2 j and 2 j + 1 and is played by the odd one.
int rank_at(const Phase& p, int place) {
  return place < p.fold ? 2 * place + 1 : place + p.fold;
}
// First chunk of a place, where there is one chunk per rank.
int first_chunk(const Phase& p, int place) {
  return place < p.fold ? 2 * place : place + p.fold;
}

void fold_round(const CollectiveSpec& s, const Phase& p, std::vector<Transfer>& out) {
  const bool in = p.move == Move::FoldIn;
  const Part whole{Bytes{0}, s.bytes};
  const Writer w{out, in && s.kind != Collective::AllGather ? Combine::Add : Combine::Copy};
  for (int j = 0; j < p.fold; ++j) {
    const Part part = p.part == FoldPart::Whole
                          ? whole
                          : chunks_of(whole, s.ranks, std::int64_t{2} * j, std::int64_t{2} * j + 1);
    if (in)
      w.send(2 * j, 2 * j + 1, part);
    else
      w.send(2 * j + 1, 2 * j, part);
  }
}

void block_round(const CollectiveSpec& s, const Phase& p, std::int64_t k, std::vector<Transfer>& out) {
  const int by = p.move == Move::Halving ? p.size >> (k + 1) : 1 << k;
  const Writer w{out, p.move == Move::Doubling ? Combine::Copy : Combine::Add};
  const bool per_rank = p.part == FoldPart::ChunkOfEven;
  for (int j = 0; j < p.size; ++j) {
    Part part{Bytes{0}, s.bytes};
    if (p.move != Move::DoublingAll) {
      const int at = p.move == Move::Halving ? j ^ by : j;
      const int first = at / by * by;
      part = per_rank ? chunks_of(part, s.ranks, first_chunk(p, first), first_chunk(p, first + by))
                      : chunks_of(part, p.size, first, first + by);
    }
    w.send(rank_at(p, j), rank_at(p, j ^ by), part);
  }
}

int rooted(const CollectiveSpec& s, int v) {
  return static_cast<int>((std::int64_t{v} + s.root) % s.ranks);
}

void binomial_round(const CollectiveSpec& s, const Phase& p, std::int64_t k, std::vector<Transfer>& out) {
  const bool reduce = p.move == Move::BinomialReduce;
  const Writer w{out, reduce ? Combine::Add : Combine::Copy};
  const std::int64_t by = std::int64_t{1} << (reduce ? k : p.rounds - 1 - k);
  for (std::int64_t v = by; v < s.ranks; v += 2 * by) {
    const int far = rooted(s, static_cast<int>(v));
    const int near = rooted(s, static_cast<int>(v - by));
    if (reduce)
      w.send(far, near, {Bytes{0}, s.bytes});
    else
      w.send(near, far, {Bytes{0}, s.bytes});
  }
}

// The second of two complementary trees: inner places of the one are leaves of the other (all of them for an
// even number of ranks).
int tree_rank(const CollectiveSpec& s, const Phase& p, int v) {
  if (!p.backward) return s.algorithm == Algorithm::DoubleBinaryTree ? v : rooted(s, v);
  return s.ranks % 2 == 0 ? s.ranks - 1 - v : (v + 1) % s.ranks;
}

// Calls f(place, depth) for all places of depths [lo, hi].
template <class F>
void for_each_place(const TreeShape& tree, std::int64_t lo, std::int64_t hi, const F& f) {
  if (tree.tree != Tree::InOrder) {
    const auto [first, last] = tree.places_at(lo, hi);
    for (int v = first; v < last; ++v) f(v, tree.depth_of(v));
    return;
  }
  // From the root down, left before right; at most one place per level waits.
  struct Place {
    int v;
    int depth;
  };
  std::array<Place, 64> open{};
  std::size_t count = 0;
  open.at(count++) = {0, 0};
  while (count > 0) {
    const Place at = open.at(--count);
    if (at.depth >= lo) f(at.v, at.depth);
    if (at.depth == hi) continue;
    const auto below = tree.children(at.v);
    for (const int child : {below[1], below[0]})
      if (child >= 0) open.at(count++) = {child, at.depth + 1};
  }
}

// A pipeline: chunk i crosses the edges below depth e in round i + e on the way down, and in round
// i + (depth - 1 - e) on the way up.
void tree_round(const CollectiveSpec& s, const Phase& p, std::int64_t k, std::vector<Transfer>& out) {
  const TreeShape tree{p.tree, s.ranks};
  const bool up = p.move == Move::TreeReduce;
  const Writer w{out, up ? Combine::Add : Combine::Copy};
  const Part region = region_of(s, p);
  const std::int64_t deepest = tree.depth() - 1;
  const std::int64_t lo = std::max<std::int64_t>(0, up ? deepest - k : k - s.chunks + 1);
  const std::int64_t hi = std::min(deepest, up ? deepest - k + s.chunks - 1 : k);
  for_each_place(tree, lo, hi, [&](int v, int depth) {
    const std::int64_t i = up ? k - (deepest - depth) : k - depth;
    const Part part = chunks_of(region, s.chunks, i, i + 1);
    const int above = tree_rank(s, p, v);
    for (const int child : tree.children(v)) {
      if (child < 0) continue;
      const int below = tree_rank(s, p, child);
      w.send(up ? below : above, up ? above : below, part);
    }
  });
}

// Chunk i goes up in rounds i (and i + 1, over a spine) and down in the next ones.
void switch_round(const CollectiveSpec& s, std::int64_t k, std::vector<Transfer>& out) {
  const int switches = switches_of(s);
  const int leaves = std::max(1, switches - 1);
  const int per_leaf = switches > 1 ? s.group : s.ranks;
  const int spine = s.ranks + leaves;
  const auto leaf_of = [&](int r) { return s.ranks + r / per_leaf; };
  const auto in_stage = [&](std::int64_t stage) { return k >= stage && k - stage < s.chunks; };
  const auto part = [&](std::int64_t stage) {
    return chunks_of({Bytes{0}, s.bytes}, s.chunks, k - stage, k - stage + 1);
  };
  if (in_stage(0))
    for (int r = 0; r < s.ranks; ++r) Writer{out, Combine::Add}.send(r, leaf_of(r), part(0));
  if (switches > 1) {
    for (int l = s.ranks; in_stage(1) && l < spine; ++l) Writer{out, Combine::Add}.send(l, spine, part(1));
    for (int l = s.ranks; in_stage(2) && l < spine; ++l) Writer{out, Combine::Copy}.send(spine, l, part(2));
  }
  const int last = switches > 1 ? 3 : 1;
  if (in_stage(last))
    for (int r = 0; r < s.ranks; ++r) Writer{out, Combine::Copy}.send(leaf_of(r), r, part(last));
}

// Everybody begins with a peer of its own, so that no port waits while another is crowded.
void server_round(const CollectiveSpec& s, const Phase& p, std::vector<Transfer>& out) {
  const bool push = p.move == Move::Push;
  const Writer w{out, push ? Combine::Add : Combine::Copy};
  const int senders = push ? s.ranks : s.servers;
  const int receivers = push ? s.servers : s.ranks;
  for (int j = 0; j < receivers; ++j)
    for (int i = 0; i < senders; ++i) {
      const int to = static_cast<int>((std::int64_t{i} + j) % receivers);
      const int shard = push ? to : i;
      const Part part = chunks_of({Bytes{0}, s.bytes}, s.servers, shard, shard + 1);
      w.send(push ? i : s.ranks + i, push ? s.ranks + to : to, part);
    }
}

}  // namespace

int TreeShape::depth() const {
  switch (tree) {
    case Tree::Chain:
      return size - 1;
    case Tree::Heap:
      return floor_log2(size);
    case Tree::InOrder:
      return size == 1 ? 0 : floor_log2(size - 1) + 1;
  }
  return 0;
}

int TreeShape::depth_of(int v) const {
  return tree == Tree::Chain ? v : floor_log2(std::int64_t{v} + 1);
}

std::array<int, 2> TreeShape::children(int v) const {
  const auto there = [this](std::int64_t c) { return c < size ? static_cast<int>(c) : -1; };
  if (tree == Tree::Chain) return {there(std::int64_t{v} + 1), -1};
  if (tree == Tree::Heap) return {there(2 * std::int64_t{v} + 1), there(2 * std::int64_t{v} + 2)};
  if (v == 0) return {size > 1 ? 1 << floor_log2(size - 1) : -1, -1};
  int step = (v & -v) / 2;
  if (step == 0) return {-1, -1};
  const int left = v - step;
  // The places behind v may be fewer than those before it: their root is then lower.
  while (step > 0 && std::int64_t{v} + step >= size) step /= 2;
  return {left, step > 0 ? v + step : -1};
}

std::array<int, 2> TreeShape::places_at(std::int64_t lo, std::int64_t hi) const {
  const std::int64_t n = size;
  if (tree == Tree::Chain) return {static_cast<int>(std::min(lo, n)), static_cast<int>(std::min(hi + 1, n))};
  // NOLINTBEGIN(clang-analyzer-core.UndefinedBinaryOperatorResult): levels are counted from 0
  return {static_cast<int>(std::min((std::int64_t{1} << lo) - 1, n)),
          static_cast<int>(std::min((std::int64_t{1} << (hi + 1)) - 1, n))};
  // NOLINTEND(clang-analyzer-core.UndefinedBinaryOperatorResult)
}

void list_round(const CollectiveSpec& s, const Phase& p, std::int64_t k, std::vector<Transfer>& out) {
  switch (p.move) {
    case Move::FoldIn:
    case Move::FoldOut:
      return fold_round(s, p, out);
    case Move::Halving:
    case Move::Doubling:
    case Move::DoublingAll:
      return block_round(s, p, k, out);
    case Move::BinomialReduce:
    case Move::BinomialBroadcast:
      return binomial_round(s, p, k, out);
    case Move::TreeReduce:
    case Move::TreeBroadcast:
      return tree_round(s, p, k, out);
    case Move::Switch:
      return switch_round(s, k, out);
    case Move::Push:
    case Move::Pull:
      return server_round(s, p, out);
    default:
      return;
  }
}

}  // namespace cox::model
