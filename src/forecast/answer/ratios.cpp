// SPDX-License-Identifier: Apache-2.0
#include "cox/forecast/ratios.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
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

/// The curve that is forecast with, as far as it has numbers.
std::vector<SizeRatios> fitted_ratios(const CurveForecast& c) {
  std::vector<SizeRatios> out;
  for (const CurvePrediction& p : c.drawn)
    if (p.refused.empty()) out.push_back(ratios_of(c, p));
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

constexpr int kDrawn = 64;  ///< sizes of a curve

/// Values at sizes, linear in ln ranks between them, level beyond.
class Between {
 public:
  void add(std::int64_t ranks, double value) {
    x_.push_back(std::log(static_cast<double>(ranks)));
    y_.push_back(value);
  }
  [[nodiscard]] bool empty() const { return x_.empty(); }
  [[nodiscard]] double at(std::int64_t ranks) const {
    const double x = std::log(static_cast<double>(ranks));
    const auto above = static_cast<std::size_t>(std::ranges::upper_bound(x_, x) - x_.begin());
    if (above == 0) return y_.front();
    if (above == x_.size()) return y_.back();
    const double part = (x - x_[above - 1]) / (x_[above] - x_[above - 1]);
    return y_[above - 1] + part * (y_[above] - y_[above - 1]);
  }

 private:
  std::vector<double> x_, y_;
};

bool is_known(const SizeRatios& p) {
  return p.refused.empty() && p.throughput > 0 && p.ranks > 0;
}

/// Boundaries inside the range, ascending, each once.
std::vector<std::int64_t> boundaries_of(const Regimes& r) {
  std::vector<std::int64_t> out;
  for (const TransitionBand* t : {&r.n1, &r.n2, &r.n_star})
    if (t->value.inside()) out.push_back(t->value.ranks);
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// Where the next boundary is: N* where none is above and throughput has passed it; 0 = none is known.
std::int64_t next_boundary(const Regimes& r, std::int64_t ranks) {
  const std::vector<std::int64_t> all = boundaries_of(r);
  const auto next = std::ranges::upper_bound(all, ranks);
  if (next != all.end()) return *next;
  return r.n_star.value.inside() ? r.n_star.value.ranks : 0;
}

SizeMargin margin_to(std::int64_t boundary, std::int64_t ranks) {
  return {.ranks = ranks, .factor = static_cast<double>(boundary) / static_cast<double>(ranks)};
}

/// Sizes of a curve: those given, what lies between evenly in ln ranks, and boundaries.
std::vector<std::int64_t> drawn_sizes(const Forecast& f, std::int64_t from, std::int64_t to) {
  std::vector<std::int64_t> out;
  const double step = std::log(static_cast<double>(to) / static_cast<double>(from)) / kDrawn;
  for (int i = 1; i < kDrawn; ++i)
    out.push_back(std::llround(static_cast<double>(from) * std::exp(step * i)));
  if (f.regimes)
    for (const std::int64_t n : boundaries_of(*f.regimes))
      if (n > from && n < to) out.push_back(n);
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// Of a rank's throughput, beside the small run: what failures leave at both.
double kept_beside(const Forecast& f, std::size_t i) {
  if (f.goodput.empty() || !(f.goodput_seen() > 0)) return 1;
  return f.goodput[i].shares.work / f.goodput_seen();
}

double twice_at(const Forecast& f, std::size_t i) {
  const std::int64_t ranks = f.projection.points[i].ranks;
  if (f.job) {
    const double here = f.job->at(ranks, kEveryMechanism).throughput;
    const double there = f.job->at(2 * ranks, kEveryMechanism).throughput;
    if (here > 0 && std::isfinite(there / here)) return there / here;
  }
  return doubled(f.elasticity(i));
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

std::vector<SizeRatios> curve_through(const Forecast& f, std::span<const SizeRatios> sizes) {
  if (f.curve) return fitted_ratios(*f.curve);
  std::vector<SizeRatios> out;
  std::ranges::copy_if(sizes, std::back_inserter(out), is_known);
  if (!f.job || out.size() < 2) return out;
  const auto job = [&](std::int64_t n) { return f.job->at(n, kEveryMechanism).throughput; };
  Between off, low, high;  // ln of: value over the job's, ends over the value
  for (const SizeRatios& p : out) {
    const double here = job(p.ranks);
    if (!(here > 0)) return out;
    off.add(p.ranks, std::log(p.throughput / here));
    low.add(p.ranks, std::log(p.low > 0 ? p.low / p.throughput : 1));
    high.add(p.ranks, std::log(p.high > 0 ? p.high / p.throughput : 1));
  }
  for (const std::int64_t n : drawn_sizes(f, out.front().ranks, out.back().ranks)) {
    const double here = job(n);
    if (!(here > 0) || std::ranges::find(sizes, n, &SizeRatios::ranks) != sizes.end()) continue;
    const double x = here * std::exp(off.at(n));
    out.push_back(
        {.ranks = n, .throughput = x, .low = x * std::exp(low.at(n)), .high = x * std::exp(high.at(n))});
  }
  std::ranges::sort(out, {}, &SizeRatios::ranks);
  return out;
}

std::vector<SizeRatios> curve_with_control(const Forecast& f, std::span<const SizeRatios> curve,
                                           std::span<const SizeRatios> controlled) {
  std::vector<SizeRatios> out;
  const ScalingJob* with = f.controlled_job && f.controlled_job->job ? &*f.controlled_job->job : nullptr;
  Between gain;  // ln
  for (const SizeRatios& p : controlled) {
    const auto plain = std::ranges::find(curve, p.ranks, &SizeRatios::ranks);
    if (plain != curve.end() && p.throughput > 0)
      gain.add(p.ranks, std::log(p.throughput / plain->throughput));
  }
  if (gain.empty()) return out;
  for (const SizeRatios& p : curve) {
    if (p.ranks < controlled.front().ranks || p.ranks > controlled.back().ranks) continue;
    const double x = with != nullptr ? with->at(p.ranks, kEveryMechanism).throughput
                                     : p.throughput * std::exp(gain.at(p.ranks));
    out.push_back({.ranks = p.ranks, .throughput = x});
  }
  return out;
}

std::vector<SizeMargin> size_margins(const Regimes& regimes, std::span<const SizeRatios> sizes) {
  std::vector<SizeMargin> out;
  for (const SizeRatios& p : sizes)
    if (const std::int64_t next = next_boundary(regimes, p.ranks); next > 0 && p.refused.empty())
      out.push_back(margin_to(next, p.ranks));
  return out;
}

std::vector<std::vector<SizeMargin>> margin_stretches(const Regimes& regimes, std::int64_t from,
                                                      std::int64_t to) {
  std::vector<std::vector<SizeMargin>> out;
  while (from < to) {
    const std::int64_t next = next_boundary(regimes, from);
    if (next == 0) break;
    const std::int64_t end = next > from ? std::min(next, to) : to;
    out.push_back({margin_to(next, from), margin_to(next, end)});
    from = end;
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
  BesideSmallRun out{.twice_the_ranks = twice_at(f, i), .cost = cost_of(f, i)};
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
  const double running = at.efficiency / f.seen.efficiency;
  out.per_rank = running * kept_beside(f, i);
  if (!f.goodput.empty()) out.per_rank_running = running;
  out.own_small = f.seen.mean.value * f.seen.efficiency;
  out.own_here = at.mean.value * at.efficiency;
  out.own_moved = std::abs(out.own_here / out.own_small - 1) > kSeen && f.projection.scaling == Scaling::Weak;
  out.communication_small = f.seen.rest / f.seen.mean.value;
  out.communication_here = at.rest / at.mean.value;
  out.communication_moved = std::abs(out.communication_here - out.communication_small) > kSeen;
  return out;
}

}  // namespace cox::forecast
