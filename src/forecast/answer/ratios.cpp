// SPDX-License-Identifier: Apache-2.0
#include "cox/forecast/ratios.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cox/base/assert.hpp"

namespace cox::forecast {
namespace {

constexpr double kSeen = 0.05;  ///< a change of a dashboard's figure that somebody notices

/// Throughput of the smallest size given is that many ranks.
SizeRatios ratios_of(const CurveForecast& c, const CurvePrediction& p) {
  SizeRatios out{.ranks = p.size, .seen = p.measured, .refused = p.refused};
  if (!p.refused.empty()) return out;
  const CurvePrediction& first = c.given.front();
  out.throughput = static_cast<double>(first.size) * p.throughput_ratio / first.throughput_ratio;
  const bool times = c.value == CurveValue::StepTime;
  out.low = out.throughput * (times ? p.value / p.high : p.low / p.value);
  out.high = out.throughput * (times ? p.value / p.low : p.high / p.value);
  out.cost = static_cast<double>(p.size) / out.throughput;
  return out;
}

std::vector<SizeRatios> curve_ratios(const CurveForecast& c) {
  COX_ASSERT(!c.given.empty(), "a table of sizes");
  std::vector<SizeRatios> out;
  out.reserve(c.given.size());
  for (const CurvePrediction& p : c.given) out.push_back(ratios_of(c, p));
  for (const CurvePrediction& p : c.points)
    if (!p.measured) out.push_back(ratios_of(c, p));
  std::ranges::sort(out, {}, &SizeRatios::ranks);
  return out;
}

/// `failing`: null = nothing fails. `first`: own work and goodput of the small run, which costs are compared with; 0 = not known.
SizeRatios ratios_of(const SizePoint& p, bool seen, const SizeGoodput* failing, double first) {
  SizeRatios out{.ranks = p.ranks, .seen = seen, .refused = p.refused};
  if (p.refused.empty() && !(p.efficiency > 0)) out.refused = "own work is not known";
  if (!out.refused.empty()) return out;
  const double goodput = failing == nullptr ? 1 : failing->shares.work;
  out.throughput = static_cast<double>(p.ranks) * p.efficiency * goodput;
  out.low = p.mean.high > Seconds{} ? out.throughput * (p.mean.value / p.mean.high) : out.throughput;
  out.high = p.mean.low > Seconds{} ? out.throughput * (p.mean.value / p.mean.low) : out.throughput;
  if (failing != nullptr) {
    out.goodput = BandedGoodput{.value = goodput, .band = failing->goodput};
    out.low = out.throughput * failing->throughput.low;
    out.high = out.throughput * failing->throughput.high;
  }
  out.cost = first > 0 && goodput > 0 ? first / (p.efficiency * goodput) : 0;
  return out;
}

const std::vector<UnitPace>& units_of(const Structure& s) {
  return s.nodes.size() > 1 ? s.nodes : s.ranks;
}

/// Critical shares added over all windows, the most first.
std::vector<std::int32_t> most_critical(const OverTime& o, std::size_t most) {
  std::vector<std::pair<double, std::int32_t>> units;
  for (const WindowStructure& w : o.windows)
    for (const UnitPace& u : units_of(w.structure)) {
      const auto at = std::ranges::find(units, u.unit, &std::pair<double, std::int32_t>::second);
      if (at == units.end())
        units.emplace_back(u.critical.value, u.unit);
      else
        at->first += u.critical.value;
    }
  std::sort(units.begin(), units.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  if (units.size() > most) units.resize(most);
  std::vector<std::int32_t> out;
  out.reserve(units.size());
  for (const auto& [share, unit] : units) out.push_back(unit);
  return out;
}

double cost_of(const Forecast& f, std::size_t i) {
  const SizePoint& at = f.projection.points[i];
  const double kept = f.goodput.empty() ? 1 : f.goodput[i].shares.work / f.goodput_seen();
  return f.seen.efficiency > 0 && at.efficiency > 0 && kept > 0 ? f.seen.efficiency / (at.efficiency * kept)
                                                                : 1;
}

}  // namespace

std::vector<SizeRatios> size_ratios(const Forecast& f) {
  if (f.curve) return curve_ratios(*f.curve);
  const double first = f.seen.efficiency > 0 ? f.seen.efficiency * f.goodput_seen() : 0;
  std::vector<SizeRatios> out;
  const bool asked =
      std::ranges::any_of(f.projection.points, [&](const SizePoint& p) { return p.ranks == f.seen.ranks; });
  const bool fails = !f.goodput.empty();
  if (f.seen.ranks > 0 && !asked) out.push_back(ratios_of(f.seen, true, fails ? &f.at_seen : nullptr, first));
  for (std::size_t i = 0; i < f.projection.points.size(); ++i) {
    const SizePoint& p = f.projection.points[i];
    out.push_back(ratios_of(p, p.ranks == f.seen.ranks, fails ? &f.goodput[i] : nullptr, first));
  }
  std::sort(out.begin(), out.end(),
            [](const SizeRatios& a, const SizeRatios& b) { return a.ranks < b.ranks; });
  return out;
}

std::vector<SizeRatios> with_control(std::span<const SizeRatios> sizes, const Control& control) {
  std::vector<SizeRatios> out;
  for (const ControlledSize& at : control.controlled) {
    const auto size = std::ranges::find(sizes, at.ranks, &SizeRatios::ranks);
    if (size != sizes.end() && size->refused.empty())
      out.push_back({.ranks = at.ranks, .throughput = size->throughput * at.throughput_ratio});
  }
  return out;
}

std::vector<SizeMargin> size_margins(const Regimes& regimes, std::span<const SizeRatios> sizes) {
  std::vector<SizeMargin> out;
  for (const SizeRatios& p : sizes) {
    std::int64_t next = 0;
    for (const RegimeBoundary& b : {regimes.n1.value, regimes.n2.value, regimes.n_star.value})
      if (b.inside() && b.ranks > p.ranks && (next == 0 || b.ranks < next)) next = b.ranks;
    if (next > 0)
      out.push_back({.ranks = p.ranks, .factor = static_cast<double>(next) / static_cast<double>(p.ranks)});
  }
  return out;
}

std::vector<KeptRatio> kept_ratios(const Structure& s) {
  std::vector<KeptRatio> out;
  out.reserve(s.kept.size());
  for (const KeptPart& one : s.kept)
    out.push_back({.step = one.delay / s.kept.front().delay,
                   .kept = one.kept.value,
                   .low = one.kept.low,
                   .high = one.kept.high});
  return out;
}

std::vector<KeptRatio> kept_over_steps(const DelayOverSteps& delay) {
  std::vector<KeptRatio> out;
  for (const Proportion& p : delay.kept)
    out.push_back({.step = static_cast<double>(out.size()), .kept = p.value, .low = p.low, .high = p.high});
  return out;
}

PathShares path_shares(const OverTime& o, std::size_t most_units) {
  PathShares out{.of_nodes = !o.windows.empty() && o.windows.front().structure.nodes.size() > 1,
                 .units = most_critical(o, most_units)};
  for (const WindowStructure& w : o.windows) {
    std::vector<double> row;
    double rest = 1;
    for (const std::int32_t unit : out.units) {
      double here = 0;
      for (const UnitPace& u : units_of(w.structure))
        if (u.unit == unit) here = u.critical.value;
      row.push_back(here);
      rest -= here;
    }
    row.push_back(std::max(rest, 0.0));
    out.shares.push_back(std::move(row));
  }
  return out;
}

const UnitPace* last_most_often(std::span<const UnitPace> units) {
  const auto most = std::ranges::max_element(units, {}, [](const UnitPace& u) { return u.critical.value; });
  return most == units.end() ? nullptr : &*most;
}

double doubled(double elasticity) {
  return std::pow(2.0, elasticity);
}

BesideSmallRun beside_small_run(const Forecast& f, std::size_t i) {
  const SizePoint& at = f.projection.points[i];
  BesideSmallRun out{.twice_the_ranks = doubled(at.elasticity), .cost = cost_of(f, i)};
  out.cost_moved = out.cost > 1 + kSeen;
  out.energy = f.energy_of_sample(i);
  out.energy_moved = out.energy && *out.energy > 1 + kSeen;
  if (at.median.value > Seconds{}) {
    out.p99_ratio = at.p99.value / at.median.value;
    out.p999_ratio = at.p999.value / at.median.value;
  }
  if (at.median.value > Seconds{} && std::isfinite(at.cv)) out.cv = at.cv;
  if (at.mean.value > Seconds{}) out.communication = at.rest / at.mean.value;
  out.work_known = at.efficiency > 0 && f.seen.efficiency > 0;
  if (!out.work_known) return out;
  out.per_rank = at.efficiency / f.seen.efficiency;
  out.own_small = f.seen.mean.value * f.seen.efficiency;
  out.own_here = at.mean.value * at.efficiency;
  out.own_moved = std::abs(out.own_here / out.own_small - 1) > kSeen && f.projection.scaling == Scaling::Weak;
  out.communication_small = f.seen.rest / f.seen.mean.value;
  out.communication_here = at.rest / at.mean.value;
  out.communication_moved = std::abs(out.communication_here - out.communication_small) > kSeen;
  return out;
}

}  // namespace cox::forecast
