// SPDX-License-Identifier: Apache-2.0
#include "generated.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "cox/base/hash.hpp"
#include "cox/model/collective.hpp"

namespace cox::accuracy {
namespace {

/// Own work before the three kinds of operation.
constexpr std::array<double, 3> kWorkSeconds{1e-3, 0.4e-3, 2e-3};
constexpr double kSpread = 0.1;
constexpr double kTransferSeconds = 100e-6;
constexpr double kCorrelation = 0.9;
/// Half the distance between the quartiles of Pareto (1.3) is this; of a normal sample 0.6745 spreads.
const double kParetoQuartiles = (std::pow(0.25, -1 / 1.3) - std::pow(0.75, -1 / 1.3)) / 2;

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(mix_bits(seed + 0x9e3779b97f4a7c15ULL)) {}
  double uniform() {
    state_ += 0x9e3779b97f4a7c15ULL;
    return (static_cast<double>(mix_bits(state_) >> 11) + 0.5) / 9007199254740992.0;
  }
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform()); }
  std::int64_t from_to(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(uniform() * static_cast<double>(high - low + 1));
  }

 private:
  std::uint64_t state_;
};

/// Noise of one rank from operation to operation, in spreads.
class RankNoise {
 public:
  RankNoise(Noise kind, std::uint64_t seed) : kind_(kind), draws_(seed), wander_(draws_.normal()) {}

  double next(bool new_step) {
    switch (kind_) {
      case Noise::Normal:
        return draws_.normal();
      case Noise::HeavyTail:
        return std::min(1000.0, std::pow(draws_.uniform(), -1 / 1.3)) * 0.6745 / kParetoQuartiles;
      case Noise::Wandering:
        wander_ = kCorrelation * wander_ + std::sqrt(1 - kCorrelation * kCorrelation) * draws_.normal();
        return wander_;
      case Noise::PerStep:
        if (new_step) wander_ = draws_.normal();
        return std::sqrt(0.5) * (wander_ + draws_.normal());
      case Noise::Crowded:
        if (left_ == 0 && draws_.uniform() < 0.01) left_ = draws_.from_to(1, 5);
        if (left_ > 0) {
          --left_;
          return 20 + draws_.normal();
        }
        return draws_.normal();
    }
    return 0;
  }

 private:
  Noise kind_;
  Draws draws_;
  double wander_;
  std::int64_t left_ = 0;
};

struct Shape {
  std::int32_t ranks = 0;
  std::int64_t steps = 0;
  std::int64_t per_step = 0;
  [[nodiscard]] std::int64_t operations() const { return steps * per_step; }
};

Shape shape_of(const Case& c, Draws& draws) {
  static constexpr std::array<std::int32_t, 8> kRanks{4, 6, 8, 16, 32, 64, 128, 512};
  Shape s;
  s.ranks = kRanks[static_cast<std::size_t>(draws.from_to(0, 7))];
  if (c.missing == Missing::Nothing) {
    s.steps = draws.from_to(1, 9);
    s.per_step = draws.from_to(40, 120);
    if (s.steps < 3) s.per_step *= 3;
  } else {
    s.steps = draws.from_to(10, 40);
    s.per_step = 12;
  }
  return s;
}

std::vector<std::int32_t> draw_ranks(std::int32_t ranks, std::int64_t count, Draws& draws) {
  std::vector<std::int32_t> chosen;
  while (static_cast<std::int64_t>(chosen.size()) < count) {
    const auto r = static_cast<std::int32_t>(draws.from_to(0, ranks - 1));
    if (std::find(chosen.begin(), chosen.end(), r) == chosen.end()) chosen.push_back(r);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

/// Which calls were recorded.
class Kept {
 public:
  Kept(const Case& c, const Shape& s, Draws& draws)
      : missing_(c.missing),
        first_(static_cast<std::size_t>(s.ranks), 0),
        end_(static_cast<std::size_t>(s.ranks), s.operations()) {
    const auto n = static_cast<std::size_t>(s.ranks);
    traced_.assign(n, true);
    const std::int64_t all = s.operations();
    for (std::size_t r = 0; r < n; ++r) {
      const double u = draws.uniform();
      if (missing_ == Missing::RingBuffers)
        first_[r] = static_cast<std::int64_t>(0.7 * u * static_cast<double>(all));
      if (missing_ == Missing::CutFiles && draws.uniform() < 0.7)
        end_[r] = static_cast<std::int64_t>((0.3 + 0.7 * u) * static_cast<double>(all));
    }
    if (missing_ == Missing::Untraced) {
      const auto gone = std::clamp<std::int64_t>(draws.from_to(1, s.ranks * 4 / 10), 1, s.ranks - 3);
      for (const auto r : draw_ranks(s.ranks, gone, draws)) traced_[static_cast<std::size_t>(r)] = false;
    }
    if (missing_ == Missing::Scattered) lost_share_ = std::max(0.15, draws.uniform() * 0.4);
  }
  [[nodiscard]] bool traced(std::size_t r) const { return traced_[r]; }
  /// Whether the file of a rank reaches over this operation.
  [[nodiscard]] bool spans(std::size_t r, std::int64_t op) const { return op >= first_[r] && op < end_[r]; }
  [[nodiscard]] bool holds(std::size_t r, std::int64_t op, Draws& draws) const {
    if (!traced_[r] || op < first_[r] || op >= end_[r]) return false;
    return missing_ != Missing::Scattered || draws.uniform() >= lost_share_;
  }

 private:
  Missing missing_;
  std::vector<std::int64_t> first_;
  std::vector<std::int64_t> end_;
  std::vector<bool> traced_;
  double lost_share_ = 0;
};

trace::Run empty_run(const Shape& s, const Kept& kept) {
  trace::Run run;
  run.info.provenance = trace::Provenance::Simulated;
  run.world_size = s.ranks;
  run.nodes.push_back({NodeId{0}, "node0", ""});
  trace::Communicator world;
  world.id = CommId{0};
  world.name = "world";
  world.size = s.ranks;
  for (std::int32_t r = 0; r < s.ranks; ++r) {
    world.ranks.emplace_back(r);
    if (!kept.traced(static_cast<std::size_t>(r))) continue;
    trace::RankTrack track;
    track.rank = Rank{r};
    track.node = NodeId{0};
    run.ranks.push_back(std::move(track));
  }
  run.communicators.push_back(std::move(world));
  return run;
}

}  // namespace

std::string_view name_of(Noise n) {
  switch (n) {
    case Noise::Normal:
      return "normal";
    case Noise::HeavyTail:
      return "heavy tail";
    case Noise::Wandering:
      return "wandering";
    case Noise::PerStep:
      return "per step";
    case Noise::Crowded:
      return "crowded";
  }
  return "";
}

Generated generate(const Case& c) {
  Draws draws(c.seed);
  const Shape s = shape_of(c, draws);
  const auto n = static_cast<std::size_t>(s.ranks);
  const std::int64_t most = std::max<std::int64_t>(1, s.ranks / 8);
  const std::int64_t count = draws.uniform() < 0.5 ? 1 : draws.from_to(1, most);
  const std::vector<std::int32_t> late = draw_ranks(s.ranks, count, draws);
  const Kept kept(c, s, draws);
  Generated g{.run = empty_run(s, kept), .late = {}, .mean_work = {}, .last_of = {}};
  std::vector<std::int32_t> track(n, -1);
  for (std::size_t i = 0; i < g.run.ranks.size(); ++i)
    track[static_cast<std::size_t>(g.run.ranks[i].rank.value())] = static_cast<std::int32_t>(i);
  if (c.level > 0)
    for (const auto r : late)
      if (kept.traced(static_cast<std::size_t>(r))) g.late.push_back(r);
  std::vector<RankNoise> noise;
  for (std::size_t r = 0; r < n; ++r) noise.emplace_back(c.noise, c.seed * 1000003 + r);
  std::vector<double> works(n);
  std::vector<double> sums(g.run.ranks.size(), 0);
  std::vector<double> counts(g.run.ranks.size(), 0);
  g.last_of.assign(g.run.ranks.size(), 0);
  double free_at = 1e-3;
  double free_without = free_at;
  for (std::int64_t op = 0; op < s.operations(); ++op) {
    const auto kind = static_cast<std::size_t>(op % 3);
    const bool new_step = op % s.per_step == 0;
    double latest = 0;
    double without = 0;
    for (std::size_t r = 0; r < n; ++r) {
      double spreads = noise[r].next(new_step);
      const double usual = kWorkSeconds[kind] * std::max(0.05, 1 + kSpread * spreads);
      if (c.level > 0 && std::binary_search(late.begin(), late.end(), static_cast<std::int32_t>(r)))
        spreads += c.level;
      works[r] = kWorkSeconds[kind] * std::max(0.05, 1 + kSpread * spreads);
      latest = std::max(latest, works[r]);
      without = std::max(without, track[r] >= 0 ? usual : works[r]);
    }
    std::int32_t last = -1;
    for (std::size_t r = 0; r < n; ++r) {
      const std::int32_t t = track[r];
      if (t < 0) continue;
      trace::EventColumns& e = g.run.ranks[static_cast<std::size_t>(t)].events;
      const auto at = [](double seconds) { return duration_from_seconds(seconds); };
      if (new_step && kept.spans(r, op))
        e.push_back({.kind = trace::EventKind::Step,
                     .begin = at(free_at),
                     .end = at(free_at),
                     .bytes = Bytes{op / s.per_step},
                     .comm = trace::kNoComm});
      if (!kept.holds(r, op, draws)) continue;
      e.push_back({.kind = trace::EventKind::Collective,
                   .op = static_cast<std::uint8_t>(model::Collective::AllReduce),
                   .begin = at(free_at + works[r]),
                   .end = at(free_at + latest + kTransferSeconds),
                   .bytes = Bytes{std::int64_t{1'000'000} * static_cast<std::int64_t>(kind + 1)},
                   .comm = CommId{0},
                   .seq = static_cast<std::uint32_t>(op)});
      sums[static_cast<std::size_t>(t)] += works[r];
      counts[static_cast<std::size_t>(t)] += 1;
      if (last < 0 || works[r] > works[static_cast<std::size_t>(last)]) last = static_cast<std::int32_t>(r);
    }
    if (last >= 0) ++g.last_of[static_cast<std::size_t>(track[static_cast<std::size_t>(last)])];
    free_at += latest + kTransferSeconds;
    free_without += without + kTransferSeconds;
  }
  g.gain = 1 - free_without / free_at;
  for (std::size_t t = 0; t < sums.size(); ++t)
    g.mean_work.push_back(counts[t] > 0 ? sums[t] / counts[t] : 0);
  return g;
}

}  // namespace cox::accuracy
