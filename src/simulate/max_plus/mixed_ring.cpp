// SPDX-License-Identifier: Apache-2.0
// A path that ends at place r began at s = r - m: it moved on in m rounds and stayed in the other K - m. Each
// move pays the link into the next place, each stay that of the place where it stays. Levels: a move keeps the
// chunk, a stay goes to the chunk before, from s + phase down to r + phase - K =: c.
//
// Chunks of one size: a path stays best at the dearest place on its way,
//   t[s] + sum of a over (s, r] + (K - m) max of a over [s, r],
// which is a maximum over the different costs v of what staying at v costs, for all s that pass a place of v
// or dearer. For each v that is separable in s and r: a sliding maximum.
//
// Chunks of two sizes: a place i costs b[i] more for a large one. All stays are at places of the dearest cost v
// on the way if what a stay elsewhere loses is at least what large chunks on the moves from there to such a place
// could bring: the step from the next lower cost to v is at least the largest b of these places, for each place
// of the longest way without v, and once more if b[v] is less. That is checked. With j1 the first and j2 the last such place on the way, moves before j1 see chunk s + phase, those
// after j2 chunk c, and those between any that the path meets, so a large one if there is one:
//   ... + b[v] (large in [c, s + phase)) + [s + phase large] b(s, j1] + [any large] b(j1, j2] + [c large] b(j2, r]
// which is separable on either side of the first s that meets a large chunk.
#include "simulate/max_plus/mixed_ring.hpp"

#include <array>
#include <optional>

namespace cox::simulate {
namespace {

constexpr std::size_t kMostCosts = 8;

/// The different costs in ascending order, and which of them each place has.
struct Costs {
  struct One {
    double cheap = 0;
    double extra = 0;  ///< of a large chunk
    auto operator<=>(const One&) const = default;
  };
  std::array<One, kMostCosts> values{};
  std::size_t count = 0;
  std::vector<std::uint8_t> of;  ///< per place
};

std::optional<Costs> find_costs(const RingLane& ring, std::span<const double> cheap,
                                std::span<const double> dear) {
  Costs costs;
  const auto one = [&](std::size_t i) {
    return Costs::One{cheap[i], ring.large > 0 ? dear[i] - cheap[i] : 0};
  };
  const auto end = [&] { return costs.values.begin() + static_cast<std::ptrdiff_t>(costs.count); };
  Costs::One last{};
  for (std::size_t i = 0; i < cheap.size(); ++i) {
    const Costs::One here = one(i);
    if (costs.count > 0 && (here == last || std::find(costs.values.begin(), end(), here) != end())) continue;
    if (costs.count == kMostCosts) return std::nullopt;
    costs.values.at(costs.count++) = last = here;
  }
  std::sort(costs.values.begin(), end());
  costs.of.resize(cheap.size());
  for (std::size_t i = 0; i < cheap.size(); ++i)
    costs.of[i] =
        static_cast<std::uint8_t>(std::find(costs.values.begin(), end(), one(i)) - costs.values.begin());
  return costs;
}

/// Places of cost `v` or dearer: how far it is to the next one (0: here), and from the last one.
struct Neighbours {
  std::vector<std::int32_t> ahead;
  std::vector<std::int32_t> back;
  std::int32_t longest = 0;  ///< way from one to the next
};

void find_neighbours(const Costs& costs, std::size_t v, Neighbours& out) {
  const std::size_t n = costs.of.size();
  out.ahead.resize(n);
  out.back.resize(n);
  out.longest = 0;
  std::int32_t distance = 0;
  for (std::size_t i = 0; i < 2 * n; ++i) {  // the second lap knows what came before the first place
    const std::size_t place = i < n ? i : i - n;
    distance = costs.of[place] >= v ? 0 : distance + 1;
    out.back[place] = distance;
    if (i >= n) out.longest = std::max(out.longest, distance + 1);
  }
  for (std::size_t i = 2 * n; i-- > 0;) {
    const std::size_t place = i < n ? i : i - n;
    distance = costs.of[place] >= v ? 0 : distance + 1;
    out.ahead[place] = distance;
  }
}

/// Whether no stay is better at a faster place.
bool stays_at_the_dearest(const RingLane& ring, const Costs& costs) {
  if (ring.large == 0) return true;
  Neighbours near;
  double most = costs.values.front().extra;
  for (std::size_t v = 1; v < costs.count; ++v) {
    const Costs::One& here = costs.values.at(v);
    most = std::max(most, here.extra);
    find_neighbours(costs, v, near);
    if (here.cheap - costs.values.at(v - 1).cheap < near.longest * most + (most - here.extra)) return false;
  }
  return true;
}

/// Sums over places up to and with x, counted from 0, x any integer few laps away.
class Sums {
 public:
  Sums(const Costs& costs, double Costs::One::*value) : below_(costs.of.size() + 1) {
    double lost = 0;  // what rounding left (Kahan)
    for (std::size_t i = 0; i < costs.of.size(); ++i) {
      const double more = costs.values.at(costs.of[i]).*value - lost;
      below_[i + 1] = below_[i] + more;
      lost = (below_[i + 1] - below_[i]) - more;
    }
  }
  [[nodiscard]] double to(Laps x) const {
    return static_cast<double>(x.whole) * below_.back() + below_[static_cast<std::size_t>(x.rest) + 1];
  }

 private:
  std::vector<double> below_;
};

/// The best of all paths that stay at places of one cost.
class Pass {
 public:
  Pass(const RingLane& ring, const Costs& costs, const Sums& cheap, const Sums& extra,
       std::span<const double> arrival)
      : ring_(ring), costs_(costs), cheap_(cheap), extra_(extra), arrival_(arrival) {}

  void run(std::size_t v, std::span<double> best) {
    find_neighbours(costs_, v, near_);
    cost_ = costs_.values.at(v);
    SlidingMaximum large;
    SlidingMaximum small;
    std::int64_t large_end = -ring_.rounds;  // pushed so far: the sources below
    std::int64_t small_end = -ring_.rounds;
    for (std::int64_t r = 0; r < ring_.places; ++r) {
      const std::int64_t first = r - ring_.rounds;
      const std::int64_t last = r - near_.back[static_cast<std::size_t>(r)];
      const std::int64_t split =
          ring_.large > 0 ? ring_.next_large(first + ring_.phase) - ring_.phase : last + 1;
      if (ring_.large > 0)
        for (; large_end <= last; ++large_end) large.push(large_end, with_large(large_end));
      for (; small_end < std::min(split, last + 1); ++small_end) small.push(small_end, without(small_end));
      if (last < first) continue;
      const double moves = cheap_.to({0, r}) + static_cast<double>(ring_.rounds - r) * cost_.cheap;
      double& here = best[static_cast<std::size_t>(r)];
      here = std::max(here, small.from(first) + moves);
      if (split <= last) here = std::max(here, large.from(split) + moves + ends(r, last));
    }
  }

 private:
  [[nodiscard]] double without(std::int64_t s) const { return start(s, laps(s, ring_.places)); }
  [[nodiscard]] double start(std::int64_t s, Laps place) const {
    return arrival_[static_cast<std::size_t>(place.rest)] +
           (static_cast<double>(s) * cost_.cheap - cheap_.to(place));
  }
  [[nodiscard]] double with_large(std::int64_t s) const {
    const Laps place = laps(s, ring_.places);
    const std::int64_t next = s + near_.ahead[static_cast<std::size_t>(place.rest)];
    const double to_next = extra_.to(laps(next, ring_.places));
    double extra = cost_.extra * static_cast<double>(ring_.large_below(s + ring_.phase)) - to_next;
    if (ring_.is_large(s + ring_.phase)) extra += to_next - extra_.to(place);
    return start(s, place) + extra;
  }
  /// What large chunks cost a path to r whose last stay is at `last`, but for what depends on its source.
  [[nodiscard]] double ends(std::int64_t r, std::int64_t last) const {
    const std::int64_t c = r - ring_.rounds + ring_.phase;
    const double to_last = extra_.to(laps(last, ring_.places));
    double extra = to_last - cost_.extra * static_cast<double>(ring_.large_below(c));
    if (ring_.is_large(c)) extra += extra_.to({0, r}) - to_last;
    return extra;
  }

  const RingLane& ring_;
  const Costs& costs_;
  const Sums& cheap_;
  const Sums& extra_;
  std::span<const double> arrival_;
  Neighbours near_;
  Costs::One cost_;
};

}  // namespace

bool close_mixed_ring(const RingLane& ring, std::span<const double> cheap, std::span<const double> dear,
                      std::span<double> times) {
  const std::optional<Costs> costs = find_costs(ring, cheap, dear);
  if (!costs || !stays_at_the_dearest(ring, *costs)) return false;
  const Sums cheap_sums(*costs, &Costs::One::cheap);
  const Sums extra_sums(*costs, &Costs::One::extra);
  const std::vector<double> arrival(times.begin(), times.end());
  std::ranges::fill(times, -std::numeric_limits<double>::infinity());
  Pass pass(ring, *costs, cheap_sums, extra_sums, arrival);
  for (std::size_t v = 0; v < costs->count; ++v) pass.run(v, times);
  return true;
}

}  // namespace cox::simulate
