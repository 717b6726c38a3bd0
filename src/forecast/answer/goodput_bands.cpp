// SPDX-License-Identifier: Apache-2.0
#include "forecast/answer/goodput_bands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "cox/base/number_text.hpp"

#include "forecast/checkpoints/drawn_failures.hpp"

namespace cox::forecast {
namespace {

constexpr int kDraws = 200;
constexpr std::size_t kBeyond = 10;  ///< draws beyond each end: 5 %

/// A start that was recorded, drawn: how long it was, and which part of it grows with the ranks. What one size cannot tell is
/// anything between its ends.
model::Startup drawn_start(const StartFit& fit, double seen, const FailureDraw& draw) {
  const TimeEstimate& at = fit.at_seen;
  if (!(at.value > Seconds{})) return {};
  const FactorRange length{.low = std::max(at.low / at.value, 0.01),
                           .high = std::max(at.high / at.value, 1.0)};
  const Seconds whole = at.value * length.at(draw.start);
  const auto part = [&](Seconds per_rank) { return std::clamp(per_rank * seen / at.value, 0.0, 1.0); };
  const double low = part(fit.per_rank.low), high = part(fit.per_rank.high);
  const double grows = low + (high - low) * draw.grows;
  return {.fixed = whole * (1 - grows), .per_rank = whole * (grows / seen)};
}

FactorRange range_of(const TimeBand& step) {
  if (!(step.value > Seconds{}) || !(step.low > Seconds{}) || !std::isfinite(step.high.count())) return {};
  return {.low = std::min(step.low / step.value, 1.0), .high = std::max(step.high / step.value, 1.0)};
}

/// A job as it is in one draw.
struct DrawnJob {
  const FullForecast& forecast;
  const Failing& failing;
  const FailureDraw& draw;
  const StatedRanges& ranges;

  /// Part of the wall time that counts, where checkpoints are written at `intervals`.
  [[nodiscard]] double goodput(double ranks, const Intervals& intervals, double step) const {
    Failing drawn = failing;
    drawn.step *= step;
    draw.apply(ranges, drawn.scenario.failures);
    if (forecast.run.start)
      drawn.scenario.start = drawn_start(*forecast.run.start, static_cast<double>(forecast.seen_ranks), draw);
    else
      change_start(drawn.scenario.start, ranges.start.at(draw.start));
    const Interruptions costs = drawn.costs(ranks);
    const model::Failures& f = failing.scenario.failures;
    const bool writes = f.checkpoint_interval > Seconds{} || writes_checkpoints(f);
    return wall_shares(costs, writes ? intervals : drawn.intervals(costs)).work;
  }
};

/// Goodput and how long a step takes, over its value.
struct DrawnSize {
  double goodput = 0;
  double step = 1;
};

DrawnSize drawn_at(const DrawnJob& job, const SizePoint& point, const SizeGoodput& at) {
  const double step = range_of(point.mean).at(job.draw.step);
  return {.goodput = job.goodput(static_cast<double>(point.ranks), at.intervals, step), .step = step};
}

ShareBand band_of(std::vector<double> values) {
  std::ranges::sort(values);
  return {.low = values[kBeyond], .high = values[values.size() - 1 - kBeyond]};
}

/// No draw is the one that was taken: it is in its band.
ShareBand with(ShareBand band, double value) {
  return {.low = std::min(band.low, value), .high = std::max(band.high, value)};
}

/// Bands of one size beside the draws of the one that was seen.
void add_bands(SizeGoodput& out, const std::vector<DrawnSize>& here, const std::vector<DrawnSize>& seen,
               double net) {
  std::vector<double> goodput, throughput, ratio;
  for (std::size_t k = 0; k < here.size(); ++k) {
    goodput.push_back(here[k].goodput);
    const double value = out.shares.work;
    throughput.push_back(value > 0 ? here[k].goodput / here[k].step / value : 0);
    const double before = seen[k].goodput;
    ratio.push_back(before > 0 ? here[k].goodput / here[k].step / before : 0);
  }
  out.goodput = with(band_of(std::move(goodput)), out.shares.work);
  out.throughput = with(band_of(std::move(throughput)), out.shares.work > 0 ? 1 : 0);
  out.net = with(band_of(std::move(ratio)), net);
}

/// One factor, or both.
std::string restarts_and_checkpoints(const Prior& prior) {
  if (prior.restarts == prior.checkpoints) return "restarts and checkpoints";
  return fmt::format("restarts within x {}, checkpoints", plain_number(prior.restarts));
}

}  // namespace

void add_goodput_bands(FullForecast& f, const Failing& failing, const Prior& prior) {
  const StatedRanges ranges = stated_ranges(prior);
  const std::vector<FailureDraw> draws = failure_draws(kDraws);
  const auto drawn = [&](const SizePoint& point, const SizeGoodput& at) {
    std::vector<DrawnSize> out;
    out.reserve(draws.size());
    for (const FailureDraw& draw : draws) out.push_back(drawn_at({f, failing, draw, ranges}, point, at));
    return out;
  };
  const std::vector<DrawnSize> seen = drawn(f.seen, f.at_seen);
  add_bands(f.at_seen, seen, seen, 1);
  for (std::size_t i = 0; i < f.goodput.size(); ++i) {
    const SizePoint& point = f.projection.points[i];
    if (!point.refused.empty()) continue;
    const double whole = f.speed_up(point);
    const double net = f.net_speed_up(i);
    SizeGoodput& out = f.goodput[i];
    add_bands(out, drawn(point, out), seen, whole > 0 ? net / whole : 0);
    out.net = {.low = out.net.low * whole, .high = out.net.high * whole};
  }
  f.projection.notes.push_back(fmt::format(
      "bands of goodput: stated times between failures hold within x {}, {} within x {} (prior){}",
      plain_number(prior.failures), restarts_and_checkpoints(prior), plain_number(prior.checkpoints),
      f.run.start ? ", the start as it was recorded" : ""));
}

}  // namespace cox::forecast
