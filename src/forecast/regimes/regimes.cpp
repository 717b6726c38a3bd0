// SPDX-License-Identifier: Apache-2.0
#include "cox/forecast/regimes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "cox/base/assert.hpp"
#include "cox/base/parallel.hpp"

namespace cox::forecast {
namespace {

constexpr std::array kLevels{kLinearAbove, kSublinearAbove, 0.0};

struct Looked {
  std::int64_t ranks = 0;
  ThroughputPoint point;
};

std::vector<std::int64_t> sizes_of(const RegimeRange& range) {
  std::vector<std::int64_t> sizes{range.from};
  const double factor = std::exp2(1.0 / range.per_doubling);
  for (double n = static_cast<double>(range.from) * factor; n < static_cast<double>(range.to); n *= factor)
    if (const std::int64_t size = std::llround(n); size > sizes.back() && size < range.to)
      sizes.push_back(size);
  sizes.push_back(range.to);
  return sizes;
}

/// The first size in (low, high] that is on high's side of the level.
std::int64_t bisect(const ScalingJob& job, MechanismSet on, double level, std::int64_t low, std::int64_t high,
                    bool falling) {
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    const bool below = job.at(middle, on).elasticity < level;
    (below == falling ? high : low) = middle;
  }
  return high;
}

/// The highest size in [low, high], throughput having one peak there.
Peak climb(const ScalingJob& job, MechanismSet on, std::int64_t low, std::int64_t high) {
  const auto value = [&](std::int64_t n) { return job.at(n, on).throughput; };
  while (high - low > 2) {
    const std::int64_t a = low + (high - low) / 3;
    const std::int64_t b = high - (high - low) / 3;
    if (value(a) < value(b))
      low = a + 1;
    else
      high = b;
  }
  Peak best{.ranks = low, .throughput = value(low)};
  for (std::int64_t n = low + 1; n <= high; ++n)
    if (const double x = value(n); x > best.throughput) best = {n, x};
  return best;
}

void add_crossings(const ScalingJob& job, MechanismSet on, const Looked& a, const Looked& b, RegimeMap& map) {
  for (const double level : kLevels) {
    const bool was_below = a.point.elasticity < level;
    if (was_below == (b.point.elasticity < level)) continue;
    map.crossings.push_back({level, bisect(job, on, level, a.ranks, b.ranks, !was_below), !was_below});
  }
}

/// Between two sizes looked at eps falls through 0, and neither of them showed it: the first or the last two.
void add_peaks_of_ends(const ScalingJob& job, MechanismSet on, const std::vector<Looked>& looked,
                       RegimeMap& map) {
  for (std::size_t i = 1; i < looked.size(); ++i) {
    const Looked& a = looked[i - 1];
    const Looked& b = looked[i];
    if (a.point.elasticity < 0 || !(b.point.elasticity < 0)) continue;
    const bool known = std::ranges::any_of(
        map.peaks, [&](const Peak& p) { return p.ranks >= a.ranks && p.ranks <= b.ranks; });
    if (!known) map.peaks.push_back(climb(job, on, a.ranks, b.ranks));
  }
  std::ranges::stable_sort(map.peaks, {}, &Peak::ranks);
}

RegimeBoundary first_below(const RegimeMap& map, const Looked& first, double level,
                           const RegimeRange& range) {
  if (first.point.elasticity < level) return {RegimeBoundary::Place::Below, range.from};
  for (const Crossing& c : map.crossings)
    if (c.level == level && c.falling) return {RegimeBoundary::Place::Inside, c.ranks};
  return {RegimeBoundary::Place::Above, range.to};
}

/// Where throughput is highest: one of the peaks, or an end. At an end itself a peak is inside: eps passes 0 beside it.
RegimeBoundary highest(const RegimeMap& map, const std::vector<Looked>& looked, const RegimeRange& range,
                       double alike) {
  const double first = looked.front().point.throughput;
  const double last = looked.back().point.throughput * (1 + alike);
  const auto top = std::ranges::max_element(map.peaks, {}, &Peak::throughput);
  const auto is_top = [&](const Peak& p) {
    const bool at_end = p.ranks == range.from || p.ranks == range.to;
    return p.throughput > std::max(first, last) || (at_end && p.throughput >= std::max(first, last));
  };
  if (top != map.peaks.end() && is_top(*top)) return {RegimeBoundary::Place::Inside, top->ranks};
  return last >= first ? RegimeBoundary{RegimeBoundary::Place::Above, range.to}
                       : RegimeBoundary{RegimeBoundary::Place::Below, range.from};
}

/// Boundaries on one line: those outside the range lie an e-fold beyond its ends.
double place_of(const RegimeBoundary& b) {
  const double at = std::log(static_cast<double>(b.ranks));
  if (b.place == RegimeBoundary::Place::Above) return at + 1;
  return b.place == RegimeBoundary::Place::Below ? at - 1 : at;
}

void add_band(TransitionBand& band, std::vector<RegimeBoundary> of_replicates) {
  band.low = band.high = band.value;
  if (of_replicates.empty()) return;
  std::ranges::sort(of_replicates, {}, place_of);
  const auto n = static_cast<double>(of_replicates.size());
  const auto last = static_cast<double>(of_replicates.size() - 1);
  band.low = of_replicates[static_cast<std::size_t>(std::floor(0.05 * last))];
  band.high = of_replicates[static_cast<std::size_t>(std::ceil(0.95 * last))];
  // Replicates are computed more coarsely than the estimate: where their spread is small that is more than it.
  if (place_of(band.value) < place_of(band.low)) band.low = band.value;
  if (place_of(band.value) > place_of(band.high)) band.high = band.value;
  const auto share = [&](RegimeBoundary::Place place) {
    return static_cast<double>(std::ranges::count(of_replicates, place, &RegimeBoundary::place)) / n;
  };
  band.above = share(RegimeBoundary::Place::Above);
  band.below = share(RegimeBoundary::Place::Below);
}

/// The second band holds the first.
void add_shared(TransitionBand& band, std::vector<RegimeBoundary> of_shared) {
  TransitionBand second{.value = band.value};
  add_band(second, std::move(of_shared));
  band.shared_low = place_of(second.low) < place_of(band.low) ? second.low : band.low;
  band.shared_high = place_of(second.high) > place_of(band.high) ? second.high : band.high;
}

/// The mechanism without which the boundary comes latest, where that is at least 1 % later. Where several take it beyond the range
/// nobody sees which moves it most, so all of them are named.
void add_cause(TransitionBand& band, const ScalingJob& job, bool only_what_lowers) {
  double latest = place_of(band.value) + std::log(1.01);
  for (std::size_t i = 0; i < job.mechanisms.size(); ++i) {
    const double moved = place_of(band.without[i].at);
    if (moved < latest || (only_what_lowers && job.mechanisms[i].reach == Reach::Flattens)) continue;
    const bool also = moved == latest && !band.because.empty();
    band.because = also ? band.because + "; or " + job.mechanisms[i].name : job.mechanisms[i].name;
    latest = moved;
  }
}

void add_notes(Regimes& out, const ScalingJob& job) {
  if (out.map.peaks.size() > 1)
    out.notes.push_back(fmt::format("throughput has {} peaks in this range: N* is the highest of them",
                                    out.map.peaks.size()));
  const auto back = std::ranges::count(out.map.crossings, false, &Crossing::falling);
  if (back > 0)
    out.notes.push_back(
        "a boundary is crossed more than once, so N1 and N2 are the first crossings of several");
  if (out.weak && out.n_star.value.inside() && out.n_star.because.empty())
    out.notes.push_back(
        "throughput is highest inside the range, and no mechanism explains it that could make it fall for good: a "
        "boundary of tiers, or chance");
  const bool falls = !out.map.peaks.empty() ||
                     std::ranges::any_of(out.map.crossings, [](const Crossing& c) { return c.level == 0; });
  if (!out.weak || out.n_star.value.place != RegimeBoundary::Place::Above || falls) return;
  const bool lowers =
      std::ranges::any_of(job.mechanisms, [](const Mechanism& m) { return m.reach == Reach::Lowers; });
  out.notes.emplace_back(
      lowers
          ? "as the job is, throughput rises all through this range"
          : "nothing lowers throughput in this range: jitter, tails, collisions and throttling flatten it, and no more");
}

}  // namespace

Regime regime_of(double elasticity) {
  if (elasticity >= kLinearAbove) return Regime::Linear;
  if (elasticity >= kSublinearAbove) return Regime::Sublinear;
  return elasticity >= 0 ? Regime::PostLinear : Regime::Collapse;
}

std::string_view name_of(Regime regime) {
  constexpr std::array<std::string_view, 4> kNames{"linear", "sublinear", "post-linear", "collapse"};
  return kNames[static_cast<std::size_t>(regime)];
}

RegimeMap map_regimes(const ScalingJob& job, const RegimeRange& range, MechanismSet on) {
  COX_ASSERT(range.from >= 1 && range.to > range.from && range.per_doubling >= 1, "a range of sizes");
  std::vector<Looked> looked;
  for (const std::int64_t n : sizes_of(range)) looked.push_back({n, job.at(n, on)});
  RegimeMap map;
  for (std::size_t i = 1; i < looked.size(); ++i) add_crossings(job, on, looked[i - 1], looked[i], map);
  std::ranges::stable_sort(map.crossings, {}, &Crossing::ranks);
  for (std::size_t i = 1; i + 1 < looked.size(); ++i) {
    const double x = looked[i].point.throughput;
    if (x > looked[i - 1].point.throughput && x >= looked[i + 1].point.throughput)
      map.peaks.push_back(climb(job, on, looked[i - 1].ranks, looked[i + 1].ranks));
  }
  add_peaks_of_ends(job, on, looked, map);
  map.n1 = first_below(map, looked.front(), kLinearAbove, range);
  map.n2 = first_below(map, looked.front(), kSublinearAbove, range);
  map.n_star = highest(map, looked, range, job.alike);
  return map;
}

Regimes regimes_of(const ScalingJob& job, const RegimeRange& range, bool weak,
                   std::span<const ScalingJob> replicates, int threads, std::span<const ScalingJob> shared) {
  const std::size_t switched = job.mechanisms.size();
  COX_ASSERT(switched <= 63, "a bit for each mechanism");
  std::vector<RegimeMap> maps(1 + switched + replicates.size() + shared.size());
  const std::size_t first_shared = 1 + switched + replicates.size();
  parallel_for(maps.size(), threads, [&](std::size_t i) {
    if (i >= first_shared)
      maps[i] = map_regimes(shared[i - first_shared], range);
    else if (i > switched)
      maps[i] = map_regimes(replicates[i - 1 - switched], range);
    else
      maps[i] = map_regimes(job, range, i == 0 ? kEveryMechanism : ~(MechanismSet{1} << (i - 1)));
  });
  Regimes out{.weak = weak, .range = range, .map = maps[0], .n1 = {}, .n2 = {}, .n_star = {}};
  out.replicates = static_cast<int>(replicates.size());
  const double first = static_cast<double>(range.from) / job.at(range.from, kEveryMechanism).throughput;
  const auto fill = [&](TransitionBand& band, RegimeBoundary RegimeMap::*which, bool only_what_lowers) {
    band.value = maps[0].*which;
    for (std::size_t i = 0; i < switched; ++i)
      band.without.push_back({job.mechanisms[i].name, maps[1 + i].*which});
    std::vector<RegimeBoundary> drawn, of_shared;
    for (std::size_t i = 1 + switched; i < maps.size(); ++i)
      (i < first_shared ? drawn : of_shared).push_back(maps[i].*which);
    add_band(band, std::move(drawn));
    add_shared(band, std::move(of_shared));
    add_cause(band, job, only_what_lowers);
    const std::int64_t at = band.value.ranks;
    band.cost = static_cast<double>(at) / job.at(at, kEveryMechanism).throughput / first;
  };
  fill(out.n1, &RegimeMap::n1, false);
  fill(out.n2, &RegimeMap::n2, false);
  fill(out.n_star, &RegimeMap::n_star, weak);
  add_notes(out, job);
  return out;
}

}  // namespace cox::forecast
