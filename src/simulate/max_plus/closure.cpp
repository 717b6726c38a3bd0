// SPDX-License-Identifier: Apache-2.0
#include "simulate/max_plus/closure.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "simulate/max_plus/mixed_ring.hpp"
#include "simulate/max_plus/regular_rounds.hpp"
#include "simulate/max_plus/ring_lane.hpp"

namespace cox::simulate {
namespace {

using model::Algorithm;
using model::Protocol;
using model::RegularRound;

// A path that ends at r began at r - m for its m moves, and stayed rounds - m times. A move keeps the chunk,
// a stay goes to the chunk before. So it meets the chunks from s + phase down to r + phase - rounds =: c,
// each stay one of them, and the moves are best made at a large one, if any is there.
//   rendezvous, stays cost too: t[s] + rounds cheap + (dear - cheap) (large in [c, s + phase) + m [any
//   large]) eager, stays are free:      t[s] + m (any large ? dear : cheap)
// Both are separable in s and r on either side of the first s that meets a large chunk: two sliding maxima.
void close_ring(const RingLane& ring, double cheap, double dear, bool eager, std::span<double> times) {
  const double extra = dear - cheap;
  const auto rounds = static_cast<double>(ring.rounds);
  const std::vector<double> arrival(times.begin(), times.end());
  const auto arrives = [&](std::int64_t s) {
    return arrival[static_cast<std::size_t>(laps(s, ring.places).rest)];
  };
  const auto with_large = [&](std::int64_t s) {
    const auto place = static_cast<double>(s);
    if (eager) return arrives(s) - place * dear;
    return arrives(s) + extra * (static_cast<double>(ring.large_below(s + ring.phase)) - place);
  };
  const auto without = [&](std::int64_t s) {
    return eager ? arrives(s) - static_cast<double>(s) * cheap : arrives(s);
  };
  SlidingMaximum large;
  SlidingMaximum small;
  std::int64_t small_end = -ring.rounds;  // pushed so far: the sources below
  for (std::int64_t s = -ring.rounds; s < 0; ++s)
    if (ring.large > 0) large.push(s, with_large(s));
  for (std::int64_t r = 0; r < ring.places; ++r) {
    const std::int64_t first = r - ring.rounds;
    const std::int64_t c = first + ring.phase;
    const std::int64_t split = ring.large > 0 ? ring.next_large(c) - ring.phase : r + 1;
    if (ring.large > 0) large.push(r, with_large(r));
    for (; small_end < std::min(split, r + 1); ++small_end) small.push(small_end, without(small_end));
    double best = split > first ? small.from(first) : -std::numeric_limits<double>::infinity();
    const auto place = static_cast<double>(r);
    best += eager ? place * cheap : rounds * cheap;
    if (split <= r) {
      const double constant =
          eager ? place * dear : rounds * cheap + extra * (place - static_cast<double>(ring.large_below(c)));
      best = std::max(best, large.from(split) + constant);
    }
    times[static_cast<std::size_t>(r)] = best;
  }
}

/// A flat ring towards higher places; mirrored where it runs the other way.
struct FlatRing {
  RingLane lane;
  bool mirrored;
  Bytes small;  ///< of a chunk that is not large
};

std::optional<FlatRing> as_ring(const model::Schedule& schedule, int lane, std::int64_t rounds) {
  const Algorithm algorithm = schedule.spec().algorithm;
  if (algorithm != Algorithm::Ring && algorithm != Algorithm::BidirectionalRing) return std::nullopt;
  const std::int64_t places = schedule.ranks();
  if (places < 3 || rounds < 1) return std::nullopt;
  const auto first = schedule.regular(0, lane);
  if (!first || first->size != places || first->stride != 1 || first->chunks != places || first->span != 1 ||
      first->sign != 1 || first->flip != 0 || first->copies != 1)
    return std::nullopt;
  const bool mirrored = first->by == places - 1;
  if (!mirrored && first->by != 1) return std::nullopt;
  for (const std::int64_t k : {std::int64_t{1}, rounds / 2, rounds - 1}) {
    if (k >= rounds) continue;
    const auto round = schedule.regular(k, lane);
    const std::int64_t turned = first->phase + (mirrored ? k : -k);
    if (!round || !same_sweep(*round, *first) || (round->phase - turned) % places != 0) return std::nullopt;
  }
  Bytes left = first->total;
  for (const RegularRound::Cut& c : first->outer) {
    if (c.size != 1) return std::nullopt;
    left = model::chunk_bytes(left, c.chunks, c.phase % c.chunks);
  }
  const Bytes small = left / places;
  const std::int64_t large = left.count() % places;
  // mirrored: place i is place P - 1 - i, chunk c is chunk large - 1 - c; then chunks fall with k again
  const std::int64_t phase = mirrored ? large - places - first->phase : first->phase;
  return FlatRing{{places, rounds, phase, large}, mirrored, small};
}

// Links that cost the same.
void close_even(const FlatRing& ring, const model::MessageCost& cost, bool eager, std::span<double> times) {
  const double cheap = cost(ring.small).count();
  if (!eager && ring.lane.large == 0 && ring.lane.rounds >= ring.lane.places - 1) {
    const double last = *std::ranges::max_element(times);
    std::ranges::fill(times, last + static_cast<double>(ring.lane.rounds) * cheap);
    return;
  }
  if (ring.mirrored) std::ranges::reverse(times);
  close_ring(ring.lane, cheap, cost(ring.small + Bytes{1}).count(), eager, times);
  if (ring.mirrored) std::ranges::reverse(times);
}

// Links that do not.
bool close_mixed(const FlatRing& ring, const LinkCosts& costs, std::span<double> times) {
  const auto places = static_cast<int>(ring.lane.places);
  std::vector<double> cheap(times.size());
  std::vector<double> dear(times.size());
  for (int i = 0; i < places; ++i) {
    const int to = ring.mirrored ? places - 1 - i : i;
    const int from = (ring.mirrored ? to + 1 : to + places - 1) % places;
    const model::MessageCost& cost = costs.of(from, to);
    cheap[static_cast<std::size_t>(i)] = cost(ring.small).count();
    dear[static_cast<std::size_t>(i)] = cost(ring.small + Bytes{1}).count();
  }
  if (ring.mirrored) std::ranges::reverse(times);
  const bool closed = close_mixed_ring(ring.lane, cheap, dear, times);
  if (ring.mirrored) std::ranges::reverse(times);
  return closed;
}

// Rendezvous, all sizes of a round equal: a departure is the latest of the arrivals that reach it,
// plus the sum of the rounds. Here all must reach all: by shifts that extend an interval,
// or by pairs at every power of two.
bool close_all_to_all(const model::Schedule& schedule, int lane, std::int64_t rounds,
                      const model::MessageCost& cost, std::span<double> times) {
  const auto ranks = static_cast<std::int64_t>(times.size());
  std::int64_t interval = 1;
  std::int64_t mask = 0;
  double sum = 0;
  for (std::int64_t k = 0; k < rounds; ++k) {
    const auto round = schedule.regular(k, lane);
    if (!round || round->size != ranks || round->stride != 1 || !round->uniform()) return false;
    sum += cost(round->bytes_from(0)).count();
    const bool shift = round->pattern == RegularRound::Pattern::Shift;
    if (shift && mask != 0 && interval < ranks) return false;
    if (!shift && interval > 1 && mask != ranks - 1) return false;
    if (shift && round->by <= interval) interval = std::min(ranks, interval + round->by);
    if (!shift) mask |= round->by & -round->by;
    if (!shift && (round->by & (round->by - 1)) != 0) return false;
    if (!shift && mask == ranks - 1) interval = ranks;
  }
  if (interval < ranks && ranks > 1) return false;
  const double last = *std::ranges::max_element(times);
  std::ranges::fill(times, last + sum);
  return true;
}

/// When a rank of a ring whose messages take as long each, some of them longer, is where: the latest of what arrived
/// undelayed and what each late message that reaches it holds up.
class LateRing {
 public:
  LateRing(const RingLane& ring, double each, std::span<const double> arrivals)
      : ring_(ring), each_(each), arrivals_(arrivals), last_(*std::ranges::max_element(arrivals)) {}

  /// In the order of rounds.
  void add(std::int64_t round, std::int64_t place, double seconds) {
    const std::int64_t before = laps(place - 1, ring_.places).rest;
    const double begin = std::max(at(round, place), at(round, before));
    late_.push_back({round + 1, place, begin + each_ + seconds});
  }
  /// Of `place`, before round `round`.
  [[nodiscard]] double at(std::int64_t round, std::int64_t place) const {
    double latest = arrived(round, place) + static_cast<double>(round) * each_;
    for (const Late& l : late_) {
      const std::int64_t rounds = round - l.round;
      if (rounds >= 0 && laps(place - l.place, ring_.places).rest <= rounds)
        latest = std::max(latest, l.time + static_cast<double>(rounds) * each_);
    }
    return latest;
  }

 private:
  struct Late {
    std::int64_t round;  ///< from which on it counts
    std::int64_t place;
    double time;
  };
  [[nodiscard]] double arrived(std::int64_t round, std::int64_t place) const {
    if (round >= ring_.places - 1) return last_;
    double latest = -std::numeric_limits<double>::infinity();
    for (std::int64_t s = place - round; s <= place; ++s)
      latest = std::max(latest, arrivals_[static_cast<std::size_t>(laps(s, ring_.places).rest)]);
    return latest;
  }

  const RingLane& ring_;
  double each_;
  std::span<const double> arrivals_;
  double last_;
  std::vector<Late> late_;
};

}  // namespace

bool close_late(const model::Schedule& schedule, int lane, std::int64_t rounds, const LinkCosts& costs,
                Protocol protocol, std::span<const LateMessage> late, std::span<double> times) {
  const model::MessageCost* cost = costs.only(schedule.ranks());
  const auto ring = as_ring(schedule, lane, rounds);
  if (cost == nullptr || protocol != Protocol::Rendezvous || !ring || ring->lane.large != 0 ||
      rounds < ring->lane.places - 1)
    return false;
  // Each late message looks at those before it and at who had arrived.
  const auto n = static_cast<double>(late.size());
  const auto places = static_cast<double>(times.size());
  if (n * (n + 2 * places) > static_cast<double>(rounds) * places / 2) return false;
  const auto mirror = [&](std::size_t place) { return ring->mirrored ? times.size() - 1 - place : place; };
  if (ring->mirrored) std::ranges::reverse(times);
  const std::vector<double> arrivals(times.begin(), times.end());
  LateRing held(ring->lane, (*cost)(ring->small).count(), arrivals);
  for (const LateMessage& m : late)
    held.add(m.round, static_cast<std::int64_t>(mirror(m.receiver)), m.seconds);
  for (std::size_t p = 0; p < times.size(); ++p) times[p] = held.at(rounds, static_cast<std::int64_t>(p));
  if (ring->mirrored) std::ranges::reverse(times);
  return true;
}

bool close(const model::Schedule& schedule, int lane, std::int64_t rounds, const LinkCosts& costs,
           Protocol protocol, std::span<double> times) {
  if (protocol == Protocol::EagerGap || rounds == 0) return false;
  const model::MessageCost* cost = costs.only(schedule.ranks());
  if (cost == nullptr && protocol != Protocol::Rendezvous) return false;
  if (const auto ring = as_ring(schedule, lane, rounds)) {
    if (cost == nullptr) return close_mixed(*ring, costs, times);
    close_even(*ring, *cost, protocol == Protocol::Eager, times);
    return true;
  }
  return cost != nullptr && protocol == Protocol::Rendezvous &&
         close_all_to_all(schedule, lane, rounds, *cost, times);
}

}  // namespace cox::simulate
