// SPDX-License-Identifier: Apache-2.0
#include "forecast/answer/held_peak.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "cox/base/number_text.hpp"

#include "forecast/scenario/resize.hpp"

namespace cox::forecast {
namespace {

constexpr double kAlike = 1e-2;  ///< throughputs are, that are apart by less

double throughput(std::int64_t ranks, Seconds step) {
  return static_cast<double>(ranks) / step.count();
}
double throughput(const CheckedSize& s) {
  return throughput(s.ranks, s.step);
}
double least(const CheckedSize& s) {
  return throughput(s.ranks, s.step + s.half_width);
}

bool is_surpassed(const SizePoint& p, const std::vector<CheckedSize>& simulated) {
  const double here = throughput(p.ranks, p.mean.value);
  return std::ranges::any_of(
      simulated, [&](const CheckedSize& s) { return s.ranks > p.ranks && least(s) >= (1 - kAlike) * here; });
}

/// Whether it does less than some smaller size did, beyond its band.
bool has_fallen(const SizePoint& p, const std::vector<CheckedSize>& simulated) {
  const double at_best = throughput(p.ranks, p.mean.low);
  return std::ranges::any_of(simulated, [&](const CheckedSize& s) {
    return s.ranks < p.ranks && least(s) * (1 - kAlike) > at_best;
  });
}

}  // namespace

void hold_peak(FullForecast& out, const model::Scenario& scenario) {
  if (!out.regimes || !out.regimes->n_star.value.inside()) return;
  TransitionBand& peak = out.regimes->n_star;
  const std::int64_t unit = unit_of(scenario);
  std::vector<std::int64_t> can;
  for (std::int64_t n = std::max(peak.value.ranks / 2 / unit * unit, unit); n <= 2 * peak.value.ranks;
       n += unit)
    if (no_such_size(scenario, n).empty()) can.push_back(n);
  if (can.empty()) return;
  const auto* training = std::get_if<model::TrainingJob>(&scenario.job.work);
  // Of whole units the two beside it are the highest: between two sizes looked at there is one peak.
  if (training == nullptr || training->global_batch == 0) {
    const auto above = std::ranges::lower_bound(can, peak.value.ranks);
    can = above == can.end()     ? std::vector{can.back()}
          : above == can.begin() ? std::vector{can.front()}
                                 : std::vector{*(above - 1), *above};
  }
  const auto throughput = [&](std::int64_t n) { return out.job->at(n, kEveryMechanism).throughput; };
  const std::int64_t best = *std::ranges::max_element(can, {}, throughput);
  peak.value.ranks = out.regimes->map.n_star.ranks = best;
  if (peak.low.inside()) peak.low.ranks = std::min(peak.low.ranks, best);
  if (peak.high.inside()) peak.high.ranks = std::max(peak.high.ranks, best);
}

void hold_simulated(FullForecast& out) {
  const std::vector<CheckedSize> simulated = out.simulated.told();
  if (!out.known || simulated.empty() || out.projection.scaling != Scaling::Weak || !out.goodput.empty())
    return;
  for (SizePoint& p : out.projection.points)
    if (p.refused.empty() && p.elasticity < 0 && (is_surpassed(p, simulated) || !has_fallen(p, simulated)))
      p.elasticity = 0;
  if (!out.regimes || !out.job || out.regimes->n_star.value.place == RegimeBoundary::Place::Above) return;
  const auto best =
      std::ranges::max_element(simulated, {}, [](const CheckedSize& s) { return throughput(s); });
  TransitionBand& peak = out.regimes->n_star;
  // The job counts in other units: by the size that was stated.
  const auto job = [&](std::int64_t n) { return out.job->at(n, kEveryMechanism).throughput; };
  const double unit = throughput(out.seen.ranks, out.seen.mean.value) / job(out.seen.ranks);
  if (!(least(*best) > (1 + kAlike) * unit * job(peak.value.ranks))) return;
  const auto next = std::next(best);
  const bool inside = next != simulated.end() && best != simulated.begin();
  out.projection.notes.push_back(fmt::format(
      "{} ranks, simulated, do more than {}: how ranks meet on links is another thing at each size",
      grouped(best->ranks), grouped(peak.value.ranks)));
  peak.value = {inside ? RegimeBoundary::Place::Inside : RegimeBoundary::Place::Above, best->ranks};
  peak.low = peak.high = peak.value;
  if (inside) {
    peak.low.ranks = std::prev(best)->ranks;
    peak.high.ranks = next->ranks;
  }
  peak.shared_low = peak.low;
  peak.shared_high = peak.high;
  out.regimes->map.n_star = peak.value;
}

}  // namespace cox::forecast
