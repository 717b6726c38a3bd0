// SPDX-License-Identifier: Apache-2.0
// Each time is the longest path through the rounds of the schedule; why that path is the longest stands
// beside it. Chunks in front are never shorter than those behind, so the path follows the first one.
#include "cox/model/closed_form.hpp"

#include <algorithm>

#include "model/phases.hpp"

namespace cox::model {
namespace {

/// A cost as numbers: seconds of a message, and of what keeps its port busy.
struct Costs {
  const MessageCost& of;
  double operator()(Bytes n) const { return of(n).count(); }
  double occupied(Bytes n) const { return of.occupied(n).count(); }
  double latency() const { return of.latency.count(); }
};

Bytes first_chunk(Bytes n, std::int64_t chunks) {
  return chunk_bytes(n, chunks, 0);
}

double each_chunk(const Costs& cost, Bytes n, std::int64_t chunks) {
  const std::int64_t more = n.count() % chunks;
  const Bytes small{n.count() / chunks};
  return static_cast<double>(more) * cost(small + Bytes{1}) +
         static_cast<double>(chunks - more) * cost(small);
}

// One way around: the path goes with the first chunk, which makes a hop in each round.
double ring(const Costs& cost, std::int64_t places, Bytes n) {
  return static_cast<double>(places - 1) * cost(first_chunk(n, places));
}

// Groups inside, groups of groups, and across; the path stays with the first shard of each level.
double hierarchy(const Costs& inside, const Costs& middle, const Costs& across, const CollectiveSpec& s) {
  const int g2 = s.algorithm == Algorithm::Hierarchical3 ? s.group2 : 1;
  const Bytes shard = first_chunk(s.bytes, s.group);
  const Bytes shard2 = first_chunk(shard, g2);
  const int ways = s.kind == Collective::AllReduce ? 2 : 1;
  return ways * (ring(inside, s.group, s.bytes) + ring(middle, g2, shard) +
                 ring(across, s.ranks / s.group / g2, shard2));
}

// Pipelines through `hops` stages: a flow shop with equal machines, the longest piece of work first.
double pipeline(const Costs& cost, std::int64_t hops, Bytes n, std::int64_t chunks) {
  if (hops < 1) return 0;
  return static_cast<double>(hops - 1) * cost(first_chunk(n, chunks)) + each_chunk(cost, n, chunks);
}

/// Halving and doubling over the places that a fold leaves.
class Blocks {
 public:
  Blocks(const Costs& cost, const CollectiveSpec& s)
      : cost_(cost), s_(s), fold_(s.ranks), per_rank_(s.kind != Collective::AllReduce) {}

  bool folds() const { return fold_.fold > 0; }
  /// A place's block may be so much longer than its partner's that it has received before it has sent: then what comes
  /// next waits for its port, and there is no formula.
  bool owes() const {
    if (!folds()) return false;
    for (int by = 1; by < fold_.places; by *= 2)
      if (cost_.occupied(block(0, by) - block(fold_.places - by, by)) > cost_.latency()) return true;
    return false;
  }
  /// The fold before, then the halving: place 0 keeps the longest block, and all hear from a folded place.
  double halving() const {
    double t = folds() ? cost_(s_.bytes) : 0;
    for (int by = 1; by < fold_.places; by *= 2) t += cost_(block(0, by));
    return t;
  }
  /// The doubling from place 0's data on, and the fold after. A place gets the first block of a round where
  /// it has that bit, and the second where it has not; only folded places go on to their partner.
  double doubling() const {
    double all_bits = 0;
    double best_folded = 0;
    for (int by = 1; by < fold_.places; by *= 2) all_bits += cost_(block(0, by));
    if (folds()) {
      best_folded = to_place(fold_.fold - 1);
      // The places below it are those that give up one of its bits and have all that are lower.
      for (int by = 1; by < fold_.places; by *= 2)
        if (((fold_.fold - 1) & by) != 0)
          best_folded = std::max(best_folded, to_place((((fold_.fold - 1) ^ by) | (by - 1))));
      best_folded += cost_(s_.bytes);
    }
    return std::max(all_bits, best_folded);
  }

 private:
  double to_place(int place) const {
    double t = 0;
    for (int by = 1; by < fold_.places; by *= 2) t += cost_((place & by) != 0 ? block(0, by) : block(by, by));
    return t;
  }
  Bytes block(int first, int span) const { return before(first + span) - before(first); }
  Bytes before(int place) const {
    if (!per_rank_) return chunks_before(s_.bytes, fold_.places, place);
    return chunks_before(s_.bytes, s_.ranks, place < fold_.fold ? 2 * place : place + fold_.fold);
  }
  const Costs& cost_;
  const CollectiveSpec& s_;
  Fold fold_;
  bool per_rank_;
};

double whole_doubling(const Costs& cost, const CollectiveSpec& s) {
  const Fold f(s.ranks);
  return (floor_log2(f.places) + (f.fold > 0 ? 2 : 0)) * cost(s.bytes);
}

/// A tree with one chunk, by its subtrees: those that are full need one number,
/// and at most one per level is not.
class TreeTime {
 public:
  TreeTime(const Costs& cost, TreeShape shape, Bytes chunk)
      : latency_(cost.latency()), occupied_(cost.occupied(chunk)), shape_(shape) {}
  /// Until the last place has it, the root having it at 0.
  double down() const { return down(0); }
  /// Until the root has all.
  double up() const { return up(0); }

 private:
  // Height of the full subtree at v, or -1.
  int full_height(int v) const {
    if (shape_.tree == Tree::InOrder) {
      if (v == 0) return -1;
      const int low = v & -v;
      return std::int64_t{v} + low - 1 < shape_.size ? floor_log2(low) : -1;
    }
    int left = 0;
    int right = 0;
    for (std::int64_t at = v; 2 * at + 1 < shape_.size; at = 2 * at + 1) ++left;
    for (std::int64_t at = v; 2 * at + 2 < shape_.size; at = 2 * at + 2) ++right;
    return left == right ? left : -1;
  }
  double down(int v) const {
    if (const int h = full_height(v); h >= 0) return h * (latency_ + 2 * occupied_);
    double last = 0;
    double sent = 0;
    for (const int child : shape_.children(v)) {
      if (child < 0) continue;
      sent += occupied_;
      last = std::max(last, sent + latency_ + down(child));
    }
    return last;
  }
  double up(int v) const {
    if (const int h = full_height(v); h >= 0) return h * (latency_ + 2 * occupied_);
    double port = 0;
    for (const int child : shape_.children(v))
      if (child >= 0) port = std::max(up(child) + latency_, port) + occupied_;
    return port;
  }
  double latency_;
  double occupied_;
  TreeShape shape_;
};

std::optional<double> tree(const Costs& cost, const CollectiveSpec& s, Tree shape, Bytes region) {
  if (s.ranks == 1) return 0;
  // The first chunk goes all the way; each further one follows it by what a place with two children needs.
  // Unequal ones do not keep their distance.
  if (region.count() % s.chunks != 0) return std::nullopt;
  const Bytes chunk = region / s.chunks;
  const TreeTime t(cost, {shape, s.ranks}, chunk);
  const bool forks = s.ranks > (shape == Tree::Heap ? 2 : 3);
  const double follow = (s.chunks - 1) * (cost.latency() + (forks ? 2 : 1) * cost.occupied(chunk));
  return (s.kind != Collective::Broadcast ? t.up() + follow : 0) +
         (s.kind != Collective::Reduce ? t.down() + follow : 0);
}

// Push: the first shard is the longest, and its server's port is busy from the first arrival
// on if there are as many workers; with more shards than workers the last worker to reach
// it begins later. Pull is its mirror.
std::optional<double> servers(const Costs& cost, const CollectiveSpec& s) {
  if (s.kind != Collective::Reduce && s.servers > s.ranks && s.bytes.count() % s.servers != 0)
    return std::nullopt;
  const Bytes shard = first_chunk(s.bytes, s.servers);
  const double each = cost.occupied(shard);
  double busy = s.ranks * each;
  if (s.servers > s.ranks) {
    double earlier = 0;
    for (int i = s.ranks - 1; i < s.servers; ++i)
      earlier += cost.occupied(chunk_bytes(s.bytes, s.servers, i));
    busy = std::max(busy, (s.ranks - 1) * each + earlier);
  }
  const bool both = s.kind == Collective::AllReduce;
  return (both ? 2 : 1) * (cost.latency() + busy);
}

// In each round the receiver's chunk travels: rank 0 gets the longest each time.
double exchange(const Costs& cost, const CollectiveSpec& s) {
  if (s.algorithm == Algorithm::Direct) return ring(cost, s.ranks, s.bytes);
  const Bytes across = first_chunk(s.bytes, s.ranks) * s.group;
  const int groups = s.ranks / s.group;
  return ring(cost, s.group, s.bytes) + (groups - 1) * cost(across);
}

std::optional<double> seconds(const Costs& cost, const CollectiveSpec& s) {
  const std::int64_t p = s.ranks;
  const double both = s.kind == Collective::AllReduce ? 2 : 1;
  switch (s.algorithm) {
    case Algorithm::Ring:
      return both * ring(cost, p, first_chunk(s.bytes, s.channels));
    case Algorithm::BidirectionalRing:
      return both * ring(cost, p, first_chunk(s.bytes, 2));
    case Algorithm::BinomialTree:
      return both * ceil_log2(p) * cost(s.bytes);
    case Algorithm::BinaryTree:
      return tree(cost, s, Tree::Heap, s.bytes);
    case Algorithm::DoubleBinaryTree:
      return tree(cost, s, Tree::InOrder, first_chunk(s.bytes, 2));
    case Algorithm::RecursiveDoubling: {
      if (s.kind != Collective::AllGather) return whole_doubling(cost, s);
      const Blocks b(cost, s);
      if (b.owes()) return std::nullopt;
      return (b.folds() ? cost(first_chunk(s.bytes, p)) : 0) + b.doubling();
    }
    case Algorithm::HalvingDoubling: {
      const Blocks b(cost, s);
      if (b.owes()) return std::nullopt;
      if (s.kind == Collective::AllReduce) return b.halving() + b.doubling();
      return b.halving() + (b.folds() ? cost(first_chunk(s.bytes, p)) : 0);
    }
    case Algorithm::Hierarchical2:
    case Algorithm::Hierarchical3:
      return hierarchy(cost, cost, cost, s);
    case Algorithm::InNetwork:
      return p == 1 ? 0 : pipeline(cost, switches_of(s) > 1 ? 4 : 2, s.bytes, s.chunks);
    case Algorithm::Direct:
      // Who hears from whom decides which chunks add up; with unequal ones there is no formula.
      if (s.kind == Collective::AllGather && s.bytes.count() % p != 0) return std::nullopt;
      return exchange(cost, s);
    case Algorithm::TwoLevel:
      return exchange(cost, s);
    case Algorithm::Dissemination:
      return ceil_log2(p) * cost(s.bytes);
    case Algorithm::ParameterServer:
      return servers(cost, s);
    case Algorithm::Chain:
      return pipeline(cost, p - 1, s.bytes, s.chunks);
  }
  return std::nullopt;
}

}  // namespace

namespace {

// What is paid per message at the ends is the event engine's business.
bool is_link_only(const MessageCost& c) {
  return c.reduce == TimePerByte{} && c.overhead_per_byte == TimePerByte{} && c.overhead == Seconds{} &&
         c.gap == Seconds{};
}

}  // namespace

std::optional<Seconds> closed_form(const CollectiveSpec& spec, const MessageCost& cost) {
  if (!Schedule::make(spec) || !is_link_only(cost)) return std::nullopt;
  const auto s = seconds(Costs{cost}, spec);
  if (!s) return std::nullopt;
  return Seconds{*s};
}

std::optional<Seconds> closed_form(const CollectiveSpec& spec, std::span<const MessageCost> levels) {
  const std::size_t want = spec.algorithm == Algorithm::Hierarchical2   ? 2
                           : spec.algorithm == Algorithm::Hierarchical3 ? 3
                                                                        : 0;
  if (want == 0 || levels.size() != want || !Schedule::make(spec)) return std::nullopt;
  if (!std::all_of(levels.begin(), levels.end(), is_link_only)) return std::nullopt;
  return Seconds{hierarchy(Costs{levels[0]}, Costs{levels[1]}, Costs{levels.back()}, spec)};
}

}  // namespace cox::model
