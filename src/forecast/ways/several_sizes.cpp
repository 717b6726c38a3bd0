// SPDX-License-Identifier: Apache-2.0
#include "forecast/ways/several_sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "cox/base/number_text.hpp"
#include "cox/base/stats.hpp"
#include "cox/base/units_text.hpp"

#include "forecast/calibrate/divided_work.hpp"
#include "forecast/project/nests.hpp"
#include "forecast/ways/curves.hpp"
#include "forecast/ways/overlapped_rest.hpp"

namespace cox::forecast {
namespace {

constexpr double kLeastChance = 0.002;  ///< relative: no mean of steps is taken to be surer
constexpr double kStep = 1.01;          ///< of sizes, for a slope
constexpr double kWidest = 2;           ///< of a band, upper over lower end
constexpr double kEnd = 1.645;          ///< deviations to the end of a band of 90 %
constexpr int kHeldOutDraws = 60;       ///< of parameters, for the band of what is held out
constexpr const char* kParts = "parts";

std::map<std::int64_t, StepMean> steps_by_size(std::span<const Sample> samples) {
  std::map<std::int64_t, std::vector<StepMean>> all;
  for (const Sample& s : samples) all[s.size()].push_back(step_mean(s));
  std::map<std::int64_t, StepMean> out;
  for (const auto& [size, means] : all) {
    StepMean& sum = out[size];
    const auto n = static_cast<double>(means.size());
    for (const StepMean& m : means) {
      sum.mean += m.mean / n;
      sum.median += m.median / n;
      sum.error = Seconds{std::hypot(sum.error.count(), m.error.count() / n)};
    }
  }
  return out;
}

Curve curve_of(const std::map<std::int64_t, StepMean>& steps) {
  Curve curve{.name = {}, .value = CurveValue::StepTime, .points = {}};
  for (const auto& [size, step] : steps) curve.points.push_back({.size = size, .value = step.mean.count()});
  return curve;
}

/// Parts of all sizes but the largest, at the largest. Nothing where they cannot be made.
std::optional<Way> parts_held_out(std::span<const Sample> samples, std::int64_t largest,
                                  const StepMean& measured, const ProjectOptions& options) {
  const bool beside_work =
      std::ranges::any_of(samples, [](const Sample& s) { return !s.record.overlapped.empty(); });
  std::vector<Sample> smaller;
  for (const Sample& s : samples)
    if (s.size() < largest) smaller.push_back(s);
  Result<Parts> parts = parts_of_samples(smaller, work_of(options.scaling));
  if (!parts) return std::nullopt;
  ProjectOptions few = options;
  RestAt beside_them;
  if (beside_work) {  // as the smaller ones alone tell it
    if (auto beside = overlapped_rest(smaller, *parts, few)) beside_them = std::move(beside->at);
    few.rest = beside_them;
  }
  if (options.scaling == Scaling::Weak) compare_sizes(*parts, smaller, beside_them);
  few.replicates = kHeldOutDraws;
  few.growth = {};
  const TimeBand told = project(*parts, {largest}, few).points.front().mean;
  if (!std::isfinite(told.value.count()) || !std::isfinite((told.high - told.low).count()))
    return std::nullopt;
  const double half = (told.high - told.low).count() / 2;
  return Way{.name = kParts,
             .held_out = told.value / measured.mean - 1,
             .chance = std::max(kLeastChance,
                                std::hypot(half, kEnd * measured.error.count()) / measured.mean.count())};
}

/// How many times further a size is than the largest was from the one before it. 0 = not beyond.
double further_of(const std::map<std::int64_t, StepMean>& steps, std::int64_t ranks) {
  const auto last = static_cast<double>(steps.rbegin()->first);
  const auto before = static_cast<double>(std::next(steps.rbegin())->first);
  return std::max(0.0, std::log(static_cast<double>(ranks) / last) / std::log(last / before));
}

/// What each way says of the sizes of a projection.
struct Told {
  std::vector<Seconds> steps{};
  std::vector<double> by_fold{};  ///< d ln step / d ln ranks
};

Told told_by_parts(const Projection& projection) {
  Told out;
  for (const SizePoint& p : projection.points) {
    out.steps.push_back(p.mean.value);
    out.by_fold.push_back(projection.scaling == Scaling::Strong ? -p.elasticity : 1 - p.elasticity);
  }
  return out;
}

std::map<std::string, Told> told_by_curves(const std::map<std::int64_t, StepMean>& steps,
                                           const Projection& projection) {
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> nearby;
  for (const SizePoint& p : projection.points) {
    sizes.push_back(p.ranks);
    nearby.push_back(std::max<std::int64_t>(p.ranks + 1, std::llround(kStep * static_cast<double>(p.ranks))));
  }
  const CurveForecast here = project_curve(curve_of(steps), sizes, projection.scaling);
  const CurveForecast there = project_curve(curve_of(steps), nearby, projection.scaling);
  std::map<std::string, Told> out;
  for (std::size_t m = 0; m < here.models.size(); ++m)
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      Told& told = out[here.models[m].name];
      told.steps.emplace_back(here.points[i].by_model[m]);
      const double ratio = static_cast<double>(nearby[i]) / static_cast<double>(sizes[i]);
      told.by_fold.push_back(std::log(there.points[i].by_model[m] / here.points[i].by_model[m]) /
                             std::log(ratio));
    }
  return out;
}

TimeBand moved(TimeBand band, Seconds by, Seconds beside) {
  const auto half = [&](Seconds side) { return Seconds{std::hypot(side.count(), beside.count())}; };
  const Seconds below = half(band.value - band.low);
  const Seconds above = half(band.high - band.value);
  band.value += by;
  band.low = std::max(Seconds{}, band.value - below);
  band.high = band.value + above;
  return band;
}

/// What the ways together say of one size.
struct Together {
  Seconds value{};
  Seconds beside{};  ///< half of a band: the ways' spread and their held-out error
  double by_fold = 0;
};
Together together(const std::vector<Way>& ways, const std::map<std::string, Told>& told, std::size_t at,
                  double further) {
  double sum = 0;
  double missed = 0;
  Together out;
  for (const Way& w : ways) {
    sum += w.weight;
    const double chance = w.chance / kEnd;  // which is in the parts' own band
    missed += w.weight * std::max(w.held_out * w.held_out - chance * chance, 0.0);
    out.value += w.weight * told.at(w.name).steps[at];
  }
  out.value /= sum;
  double spread = 0;
  for (const Way& w : ways) {
    const Told& says = told.at(w.name);
    spread += w.weight / sum * std::pow((says.steps[at] - out.value).count(), 2);
    out.by_fold += w.weight / sum * (says.steps[at] / out.value) * says.by_fold[at];
  }
  const double error = std::sqrt(missed / sum) * further * out.value.count();
  out.beside = Seconds{kEnd * std::sqrt(spread + error * error)};
  return out;
}

/// No step is shorter than one rank's own work.
void answer_by_all(SizePoint& point, const Together& all, double sure) {
  const Seconds own = sure * point.efficiency * point.mean.value;
  const double longer = all.value / point.mean.value;
  const Seconds by = all.value - point.mean.value;
  point.efficiency /= longer;
  point.cv /= longer;
  for (TimeBand* band : {&point.mean, &point.median, &point.p95, &point.p99, &point.p999, &point.with_unseen})
    *band = moved(*band, by, all.beside);
  for (TimeBand* band : {&point.mean, &point.with_unseen})
    band->low = std::max(band->low, std::min(own, band->value));
}

/// Lower end of own work over its value, the least of all positions.
double sure_of(const Parts& parts) {
  double out = 1;
  for (const PositionParts& p : parts.positions)
    if (p.level.value > Seconds{}) out = std::min(out, std::clamp(p.level.low / p.level.value, 0.0, 1.0));
  return out;
}

/// A size of which parts say no mean.
void answer_by_curves(SizePoint& point, const Together& curves, const StepMean& largest) {
  point.refused.clear();
  point.rests_on = "curves through the steps alone";
  point.mean = moved({.value = curves.value, .low = curves.value, .high = curves.value}, {}, curves.beside);
  point.with_unseen = point.mean;
  point.median = moved(point.mean, point.mean.value * (largest.median / largest.mean - 1), {});
  point.p95 = point.p99 = point.p999 = {};
  point.cv = 0;
  point.efficiency = 0;
  point.unseen_chance = 0;
}

void refuse_wide(SizePoint& point) {
  if (point.mean.high <= kWidest * point.mean.low) return;
  point.refused = fmt::format("ways that the measured sizes allow: between {} and {}",
                              to_string(point.mean.low), to_string(point.mean.high));
}

}  // namespace

StepMean step_mean(const Sample& sample) {
  Welford all;
  std::vector<double> lengths;
  for (const SampleStep& s : sample.steps) {
    all.add(s.length.count());
    lengths.push_back(s.length.count());
  }
  double together = 0;
  for (std::size_t k = 1; k < sample.steps.size(); ++k)
    together +=
        (sample.steps[k].length.count() - all.mean()) * (sample.steps[k - 1].length.count() - all.mean());
  const auto n = static_cast<double>(sample.steps.size());
  const double r = all.variance() > 0 ? std::clamp(together / (n - 1) / all.variance(), 0.0, 0.99) : 0;
  return {.mean = Seconds{all.mean()},
          .median = Seconds{median(lengths)},
          .error = Seconds{all.stddev() / std::sqrt(n * (1 - r) / (1 + r))}};
}

std::vector<Way> ways_of(std::span<const Sample> samples, const ProjectOptions& options) {
  const std::map<std::int64_t, StepMean> steps = steps_by_size(samples);
  if (steps.size() < 3) return {};
  const auto& [largest, measured] = *steps.rbegin();
  const std::optional<Way> parts = parts_held_out(samples, largest, measured, options);
  if (!parts) return {};
  std::vector<Way> ways{*parts};
  for (const CurveModel& m : project_curve(curve_of(steps), {}, options.scaling).models)
    if (m.has_held_out) ways.push_back({.name = m.name, .held_out = m.held_out});
  const double chance = std::max(kLeastChance, 2 * (measured.error / measured.mean));
  if (std::abs(parts->held_out) <= parts->chance) {
    ways.front().weight = 1;
    return ways;
  }
  double sum = 0;
  for (Way& w : ways) sum += w.weight = 1 / (w.held_out * w.held_out + chance * chance);
  for (Way& w : ways) w.weight /= sum;
  return ways;
}

void apply_ways(Projection& projection, const std::vector<Way>& ways, std::span<const Sample> samples,
                const Parts& parts) {
  if (ways.empty()) return;
  const std::map<std::int64_t, StepMean> steps = steps_by_size(samples);
  std::map<std::string, Told> told = told_by_curves(steps, projection);
  told[kParts] = told_by_parts(projection);
  std::vector<Way> curves(ways.begin() + 1, ways.end());
  if (ways.front().weight == 1)
    for (Way& w : curves) w.weight = 1 / (w.held_out * w.held_out + kLeastChance * kLeastChance);
  const bool no_mean = std::any_of(parts.positions.begin(), parts.positions.end(), may_have_no_mean);
  for (std::size_t i = 0; i < projection.points.size(); ++i) {
    SizePoint& point = projection.points[i];
    if (no_mean ? curves.empty() : !point.refused.empty()) continue;
    const bool told_wide = point.mean.high > kWidest * point.mean.low;  // by what may surface
    const Together all = together(no_mean ? curves : ways, told, i, further_of(steps, point.ranks));
    no_mean ? answer_by_curves(point, all, steps.rbegin()->second)
            : answer_by_all(point, all, sure_of(parts));
    point.elasticity = projection.scaling == Scaling::Strong ? -all.by_fold : 1 - all.by_fold;
    if (!told_wide || no_mean) refuse_wide(point);
  }
}

std::string ways_text(const std::vector<Way>& ways) {
  std::string text;
  for (const Way& w : ways) {
    if (w.weight < 0.01) continue;
    text += fmt::format("{}{} {} (missed by {})", text.empty() ? "" : ", ", w.name, percent(w.weight),
                        percent_change(w.held_out));
  }
  return "the value is by weight of how each way, made from the smaller sizes, met the largest: " + text;
}

}  // namespace cox::forecast
