// SPDX-License-Identifier: Apache-2.0
#include "forecast/ways/sample_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "cox/base/assert.hpp"
#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"

#include "forecast/calibrate/calibrate.hpp"
#include "forecast/calibrate/divided_work.hpp"
#include "forecast/scenario/scenario_parts.hpp"
#include "forecast/ways/overlapped_rest.hpp"

namespace cox::forecast {
namespace {

constexpr std::int64_t kLeastTimes = 8;
constexpr double kWidest = 2;           ///< of a band, upper over lower end
constexpr double kLeastMissed = 0.001;  ///< relative: less is no miss
constexpr double kErrors = 5;           ///< standard errors that chance explains
constexpr double kLeastApart = 0.03;    ///< relative: less is no news

/// That of the answer's own bands.
double missed_by(std::span<const Sample> samples, const SampleAnswer& answer) {
  std::vector<std::int64_t> sizes;
  for (const Sample& s : samples) sizes.push_back(s.size());
  Projection here = forecast::project(answer.parts, sizes, answer.project);
  apply_ways(here, answer.ways, samples, answer.parts);
  std::vector<Seconds> seen;
  for (const Sample& s : samples) {
    const std::optional<Sample> later = after_change(s, answer.parts);
    seen.push_back(step_mean(later ? *later : s).mean);
  }
  std::vector<TimeBand> bands;
  for (const SizePoint& point : here.points) bands.push_back(point.mean);
  return missed_by(seen, bands);
}

/// A model that misses what it was made from is no surer of another size.
void widen(SizePoint& point, double missed) {
  const bool told_wide = point.mean.high > kWidest * point.mean.low;  // by what may surface
  for (TimeBand* band : {&point.mean, &point.median, &point.p95, &point.p99, &point.p999, &point.with_unseen,
                         &point.with_shared, &point.without_growth}) {
    if (!(band->high > Seconds{})) continue;  // not asked
    band->low = std::max(Seconds{}, band->low - missed * band->value);
    band->high += missed * band->value;
  }
  if (point.refused.empty() && !told_wide && point.mean.high > kWidest * point.mean.low)
    point.refused =
        fmt::format("parts miss a size that was measured by {} more than their band", percent(missed));
}

/// Runs of one size that differ by more than their steps do: `samples` ascend by size.
void say_apart(std::span<const Sample> samples, Parts& parts) {
  for (auto from = samples.begin(); from != samples.end();) {
    const auto to =
        std::find_if(from, samples.end(), [&](const Sample& s) { return s.size() != from->size(); });
    std::vector<StepMean> means;
    for (auto s = from; s != to; ++s) {
      const std::optional<Sample> later = after_change(*s, parts);
      means.push_back(step_mean(later ? *later : *s));
    }
    const auto [least, most] = std::ranges::minmax_element(means, {}, &StepMean::mean);
    const Seconds noise{kErrors * std::hypot(least->error.count(), most->error.count())};
    const Seconds apart = most->mean - least->mean;
    if (apart > noise && apart > kLeastApart * least->mean)
      parts.untold.insert(
          parts.untold.begin(),
          fmt::format(
              "which of the inputs of {} ranks the job is: they take {} to {}, apart by more than their steps' noise; the parts are of all together",
              grouped(from->size()), to_string(least->mean), to_string(most->mean)));
    from = to;
  }
}

bool is_one_size(std::span<const Sample> samples) {
  return std::ranges::all_of(samples, [&](const Sample& s) { return s.size() == samples.front().size(); });
}

}  // namespace

double missed_by(std::span<const Seconds> seen, std::span<const TimeBand> bands) {
  COX_ASSERT(seen.size() == bands.size(), "a band for each time");
  double out = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const TimeBand& band = bands[i];
    if (!(band.low > Seconds{}) || !std::isfinite(band.low.count())) continue;
    const double missed = std::max(seen[i] / band.high - 1, 1 - seen[i] / band.low);
    if (std::isfinite(missed)) out = std::max(out, missed);
  }
  return out;
}

void SampleAnswer::take(OverlappedRest beside) {
  hidden = beside.hidden;
  if (!beside.unknown.empty()) parts.untold.insert(parts.untold.begin(), std::move(beside.unknown));
  if (!beside.at) return;
  project.rest = std::move(beside.at);
  parts.rest_growth.clear();  // and what was said of it
  std::erase_if(parts.notes, [](const std::string& s) { return s.starts_with(kBesideOwnWork); });
  parts.notes.insert(parts.notes.begin(), std::move(beside.told));
}

Status check_enough(std::span<const Sample> samples) {
  std::int64_t times = 0;
  for (const Sample& s : samples) times += s.size() * static_cast<std::int64_t>(s.steps.size());
  if (times >= kLeastTimes) return {};
  const Sample& first = samples.front();
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "forecast-001",
                    .message = fmt::format(
                        "{}: {} times of own work, {} rank{} in {} steps; expected at least {}", first.name,
                        times, first.size(), first.size() == 1 ? "" : "s", first.steps.size(), kLeastTimes),
                    .hint = "record more steps",
                    .where = {}});
}

Result<SampleAnswer> answer_samples(std::span<const Sample> samples, const std::vector<std::int64_t>& sizes,
                                    ProjectOptions project) {
  SampleAnswer out{.project = std::move(project)};
  COX_TRY(out.parts, parts_of_samples(samples, work_of(out.project.scaling)));
  COX_CHECK(check_enough(samples));
  // Several sizes tell how communication grows; one does not, so it is priced.
  const bool one_size = is_one_size(samples);
  const bool priced = static_cast<bool>(out.project.rest);
  if (!priced)
    if (auto beside = overlapped_rest(samples, out.parts, out.project)) out.take(*std::move(beside));
  if (out.project.scaling == Scaling::Weak)
    compare_sizes(out.parts, samples, priced ? RestAt{} : out.project.rest);
  if (one_size) {
    out.project.growth = out.project.of_one_size.value_or(kOneSizeGrowth);
    if (!out.project.rest) out.project.rest = rest_of(out.parts, samples.back());
  }
  out.projection = forecast::project(out.parts, sizes, out.project);
  out.ways = ways_of(samples, out.project);
  apply_ways(out.projection, out.ways, samples, out.parts);
  for (SizePoint& point : out.projection.points) widen_by_hidden(point, out.parts.ranks, out.hidden);
  if (samples.size() == 1) return out;
  say_apart(samples, out.parts);
  out.missed = missed_by(samples, out);
  if (out.missed > kLeastMissed)
    for (SizePoint& point : out.projection.points) widen(point, out.missed);
  return out;
}

}  // namespace cox::forecast
