// SPDX-License-Identifier: Apache-2.0
#include "simulate/max_plus/regular_rounds.hpp"

#include <algorithm>

#include "cox/base/assert.hpp"

#include "simulate/kernels/seconds_array.hpp"

namespace cox::simulate {
namespace {

using model::Protocol;
using model::RegularRound;

constexpr std::size_t kTile = 1024;   // ranks; with times, costs and the skew well inside 32 KiB
constexpr std::size_t kSkew = 256;    // ranks that a tile moves over its rounds
constexpr std::size_t kDrawn = 1024;  // messages whose noise is drawn at a time
constexpr std::size_t kWorthTiling = 2048;

/// max as the kernels take it.
double later(double a, double b) {
  return a > b ? a : b;
}

bool is_power_of_two(int n) {
  return (n & (n - 1)) == 0;
}

}  // namespace

/// Elements [0, length) of `times` are a block whose peers are in it.
struct RegularRounds::Stretch {
  const RoundView& view;
  const RegularRound& round;
  const MessageDraws& draws;
  std::int64_t number;
  double* times;     // of the block
  std::size_t base;  // rank of its first element
  std::size_t length;
};

bool same_sweep(const RegularRound& a, const RegularRound& b) {
  RegularRound other = b;
  other.phase = a.phase;
  other.combine = a.combine;
  return a == other;
}

RegularRounds::RegularRounds(const LinkCosts& costs, Protocol protocol, int ranks)
    : costs_(costs, protocol, ranks),
      protocol_(protocol),
      ranks_(static_cast<std::size_t>(ranks)),
      kernels_(sweep_kernels()) {}

void RegularRounds::run(std::span<const RegularRound> rounds, std::int64_t first_round,
                        const MessageDraws& draws, double* times) {
  const RegularRound& r = rounds.front();
  COX_ASSERT(ranks_ % (static_cast<std::size_t>(r.size) * static_cast<std::size_t>(r.stride)) == 0,
             "groups of a regular round fill the ranks");
  const std::size_t length = static_cast<std::size_t>(r.size) * static_cast<std::size_t>(r.stride);
  const bool plain = !draws.disturb() && protocol_ != Protocol::EagerGap;
  const bool shift = r.pattern == RegularRound::Pattern::Shift;
  const std::size_t back = static_cast<std::size_t>(r.by) * static_cast<std::size_t>(r.stride);
  if (plain && shift && rounds.size() >= 4 && length >= kWorthTiling && back <= kSkew / 4 &&
      RoundCosts::keeps(r)) {
    run_tiled(rounds, times);
    return;
  }
  for (std::size_t k = 0; k < rounds.size(); ++k)
    run_one(rounds[k], first_round + static_cast<std::int64_t>(k), draws, times);
}

void RegularRounds::run_one(const RegularRound& round, std::int64_t number, const MessageDraws& draws,
                            double* times) {
  if (round.size == 1) return;
  costs_.want_latency(draws.noise != nullptr && draws.noise->disturbs_bandwidth());
  RoundView view = costs_.view(round);
  MessageDraws left = draws;
  if (protocol_ == Protocol::EagerGap && (draws.disturb() || !view.same_for_all() || !free_.empty())) {
    view = occupy_ports(view, round, number, draws, times);
    left.noise = nullptr;  // is in the costs now
    left.late = {};
  }
  if (round.pattern == RegularRound::Pattern::Shift)
    run_shift(view, round, number, left, times);
  else
    run_pairs(view, round, number, left, times);
}

// s = max(ready, port free); port free = s + gap of what is sent. `times` becomes s.
RoundView RegularRounds::occupy_ports(const RoundView& view, const RegularRound& round, std::int64_t number,
                                      const MessageDraws& draws, double* times) {
  for (std::size_t r = 0; r < free_.size(); ++r) times[r] = later(times[r], free_[r]);
  // A rank that receives as long as it sends is not ready before its port is free.
  if (!draws.disturb() && view.same_for_all()) {
    free_.clear();
    return view;
  }
  const RoundCosts::Arrays costs = costs_.spread(round);
  if (draws.noise != nullptr)
    draws.noise->messages(draws.step, draws.number, draws.round(number), 0, as_seconds(costs.whole),
                          as_seconds(std::span<const double>(costs.latency)), draws.ranks);
  for (std::size_t r = 0; r < ranks_; ++r) {
    costs.latency[r] = std::min(costs.latency[r], costs.whole[r]);
    costs.whole[r] -= costs.latency[r];
  }
  for (const LateMessage& m : draws.late) costs.latency[m.receiver] += m.seconds;
  free_.resize(ranks_);
  for (std::size_t r = 0; r < ranks_; ++r)
    free_[r] = times[r] + costs.whole[static_cast<std::size_t>(round.to(static_cast<int>(r)))];
  RoundView spread;
  spread.latency = {costs.latency.data(), 0};
  spread.small = {costs.whole.data(), 0};
  return spread;
}

void RegularRounds::disturb(const Stretch& s, std::size_t first, std::size_t n, CostSource cost,
                            double* out) {
  if (cost.each != nullptr)
    std::copy_n(cost.each, n, out);
  else
    std::fill_n(out, n, cost.all);
  const std::size_t begin = s.base + first;
  if (s.draws.noise != nullptr) {
    std::span<double> latency;
    if (s.draws.noise->disturbs_bandwidth()) {
      latency_.resize(n);
      latency = latency_;
      for (std::size_t i = 0; i < n; ++i) latency[i] = s.view.latency.at(begin + i);
    }
    s.draws.noise->messages(s.draws.step, s.draws.number, s.draws.round(s.number), static_cast<int>(begin),
                            as_seconds(std::span(out, n)), as_seconds(std::span<const double>(latency)),
                            s.draws.ranks_on(begin, n));
  }
  for (auto m = std::ranges::lower_bound(s.draws.late, begin, {}, &LateMessage::receiver);
       m != s.draws.late.end() && m->receiver < begin + n; ++m)
    out[m->receiver - begin] += m->seconds;
}

// `cost` is that of element `low`; `peers` too.
void RegularRounds::sweep_piece(const Stretch& s, std::size_t low, std::size_t high, const double* peers,
                                CostSource cost, Direction direction) {
  double* t = s.times + low;
  const std::size_t n = high - low;
  if (protocol_ == Protocol::EagerGap) {
    kernels_.port(t, peers, n, s.view.latency.from(s.base + low), cost, direction);
    return;
  }
  const auto kernel = protocol_ == Protocol::Rendezvous ? kernels_.meet : kernels_.leave;
  if (!s.draws.disturb()) {
    kernel(t, peers, n, cost, direction);
    return;
  }
  drawn_.resize(kDrawn);
  for (std::size_t done = 0; done < n;) {
    const std::size_t count = std::min(n - done, kDrawn);
    const std::size_t at = direction == Direction::Down ? n - done - count : done;
    disturb(s, low + at, count, cost.from(at), drawn_.data());
    kernel(t + at, peers + at, count, {drawn_.data(), 0}, direction);
    done += count;
  }
}

// Elements [low, high), `peers` those of `low`, cut where the size of the chunk changes.
void RegularRounds::sweep(const Stretch& s, std::size_t low, std::size_t high, const double* peers,
                          Direction direction) {
  if (!s.view.two_sizes) {
    sweep_piece(s, low, high, peers, s.view.small.from(s.base + low), direction);
    return;
  }
  const auto stride = static_cast<std::size_t>(s.round.stride);
  const std::size_t begin = static_cast<std::size_t>(s.view.large_first) * stride;
  const std::size_t end = begin + static_cast<std::size_t>(s.view.large_count) * stride;
  // [0, cut 0) is small unless the interval of large chunks wraps; then the other way round
  const bool wraps = end > s.length;
  const std::array<std::size_t, 4> cuts = {0, wraps ? end - s.length : begin, wraps ? begin : end, s.length};
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t zone = direction == Direction::Down ? 2 - i : i;
    const std::size_t a = std::max(low, cuts.at(zone));
    const std::size_t b = std::min(high, cuts.at(zone + 1));
    if (a >= b) continue;
    const CostSource cost = (zone == 1) != wraps ? s.view.large : s.view.small;
    sweep_piece(s, a, b, peers + (a - low), cost.from(s.base + a), direction);
  }
}

void RegularRounds::run_shift(const RoundView& view, const RegularRound& round, std::int64_t number,
                              const MessageDraws& draws, double* times) {
  const std::size_t length = static_cast<std::size_t>(round.size) * static_cast<std::size_t>(round.stride);
  const std::size_t back =
      static_cast<std::size_t>(round.by) * static_cast<std::size_t>(round.stride) % length;
  if (back == 0) return;
  const std::size_t ahead = length - back;
  for (std::size_t base = 0; base < ranks_; base += length) {
    double* t = times + base;
    const Stretch s{view, round, draws, number, t, base, length};
    if (back <= ahead) {  // the last `back` elements are overwritten before the first ones read them
      saved_.assign(t + ahead, t + length);
      sweep(s, back, length, t, Direction::Down);
      sweep(s, 0, back, saved_.data(), Direction::Down);
    } else {
      saved_.assign(t, t + ahead);
      sweep(s, 0, back, t + ahead, Direction::Up);
      sweep(s, back, length, saved_.data(), Direction::Up);
    }
  }
}

void RegularRounds::run_pairs(const RoundView& view, const RegularRound& round, std::int64_t number,
                              const MessageDraws& draws, double* times) {
  RoundView costs = view;
  std::vector<double> all;
  if (draws.disturb()) {
    all.resize(ranks_);
    disturb({view, round, draws, number, times, 0, ranks_}, 0, ranks_, view.small, all.data());
    costs.small = {all.data(), 0};
  }
  if (!is_power_of_two(round.by)) {
    run_gathered(costs, round, times);
    return;
  }
  const std::size_t distance = static_cast<std::size_t>(round.by) * static_cast<std::size_t>(round.stride);
  if (protocol_ == Protocol::EagerGap)
    kernels_.port_pairs(times, ranks_, distance, costs.latency, costs.small);
  else if (protocol_ == Protocol::Rendezvous)
    kernels_.meet_pairs(times, ranks_, distance, costs.small);
  else
    kernels_.leave_pairs(times, ranks_, distance, costs.small);
}

void RegularRounds::run_gathered(const RoundView& view, const RegularRound& round, double* times) {
  old_.assign(times, times + ranks_);
  for (std::size_t r = 0; r < ranks_; ++r) {
    const double peer = old_[static_cast<std::size_t>(round.from(static_cast<int>(r)))];
    const double cost = view.small.at(r);
    if (protocol_ == Protocol::Rendezvous) times[r] = later(old_[r], peer) + cost;
    if (protocol_ == Protocol::Eager) times[r] = later(old_[r], peer + cost);
    if (protocol_ == Protocol::EagerGap) times[r] = later(old_[r], peer + view.latency.at(r)) + cost;
  }
}

// Several rounds over a tile of ranks before the next tile: round j of a tile covers the ranks of round 0,
// moved up by j times the distance, so that each rank finds its peer exactly one round behind. Tiles go from
// the highest rank down; the first ranks need the last ones as they were in each round, which are kept.
void RegularRounds::run_tiled(std::span<const RegularRound> rounds, double* times) {
  const RegularRound& r = rounds.front();
  const std::size_t length = static_cast<std::size_t>(r.size) * static_cast<std::size_t>(r.stride);
  const std::size_t back = static_cast<std::size_t>(r.by) * static_cast<std::size_t>(r.stride);
  const std::size_t most = kSkew / back;
  const MessageDraws none;
  std::vector<RoundView> views;
  for (std::size_t k = 0; k < rounds.size(); k += most) {
    const std::size_t count = std::min(most, rounds.size() - k);
    views.clear();
    for (std::size_t j = 0; j < count; ++j) views.push_back(costs_.view(rounds[k + j]));
    for (std::size_t base = 0; base < ranks_; base += length) {
      double* t = times + base;
      saved_.resize(count * back);
      std::size_t high = length;  // of round 0
      while (high > 0) {
        const std::size_t low = high > 2 * kTile ? high - kTile : 0;
        for (std::size_t j = 0; j < count; ++j) {
          const Stretch s{views[j], rounds[k + j], none, 0, t, base, length};
          const std::size_t top = std::min(high + j * back, length);
          const std::size_t bottom = low == 0 ? back : low + j * back;
          if (high == length) std::copy_n(t + length - back, back, saved_.data() + j * back);
          sweep(s, bottom, high == length ? length : top, t + bottom - back, Direction::Down);
          if (low == 0) sweep(s, 0, back, saved_.data() + j * back, Direction::Down);
        }
        high = low;
      }
    }
  }
}

}  // namespace cox::simulate
