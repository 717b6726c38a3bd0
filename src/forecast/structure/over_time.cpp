// SPDX-License-Identifier: Apache-2.0
#include "forecast/structure/over_time.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <utility>

#include "cox/base/stats.hpp"

#include "forecast/structure/structure.hpp"

namespace cox::forecast {
namespace {

constexpr std::size_t kLeastSteps = 20;
constexpr int kLeastRestarts = 4;
constexpr double kAlike = 1.25;
constexpr double kUsualSteps = 10;  ///< a gap longer than that many is a restart

double log_spread(std::span<const SampleStep> steps) {
  std::vector<double> lengths;
  for (const SampleStep& s : steps) lengths.push_back(s.length.count());
  return std::log(scaled_mad(lengths));
}

void add_trend(std::string figure, const std::vector<double>& values, std::vector<FigureTrend>& out) {
  const Trend up = rising(values);
  std::vector<double> turned = values;
  for (double& v : turned) v = -v;
  const double chance = std::min(1.0, 2 * std::min(up.chance, rising(turned).chance));
  out.push_back({.figure = std::move(figure),
                 .first = values.front(),
                 .last = values.back(),
                 .tau = up.tau,
                 .chance = chance});
}

void add_trends(OverTime& out) {
  if (out.windows.empty()) return;
  std::vector<double> amplification;
  std::vector<double> effective;
  std::vector<double> exposed;
  for (const WindowStructure& w : out.windows) {
    amplification.push_back(w.structure.amplification);
    effective.push_back(w.structure.who.effective);
    exposed.push_back(w.structure.parts.back().value.value);
  }
  add_trend("amplification", amplification, out.trends);
  add_trend("effective ranks that set the pace", effective, out.trends);
  add_trend("communication that nothing hides", exposed, out.trends);
}

std::vector<diagnose::ChangePoint> changes_of(const Sample& sample) {
  std::vector<Duration> times;
  std::vector<StepId> numbers;
  for (std::size_t k = 0; k < sample.steps.size(); ++k) {
    times.push_back(duration_from_seconds(sample.steps[k].length.count()));
    numbers.push_back(StepId{sample.steps[k].number});
  }
  // After a restart numbers come again: places then stand for them, in the order of time.
  if (std::ranges::adjacent_find(numbers, std::greater_equal<>{}) != numbers.end())
    for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = StepId{static_cast<std::int64_t>(k)};
  return diagnose::change_points(times, numbers);
}

}  // namespace

std::string_view name_of(AfterRestart verdict) {
  constexpr std::array<std::string_view, 5> kNames{"no verdict", "lower", "equal", "higher", "undecided"};
  return kNames[static_cast<std::size_t>(verdict)];
}

RestartTest after_restarts(std::span<const SampleStep> steps, std::span<const std::size_t> restarts,
                           std::size_t around) {
  Welford logs;
  for (std::size_t i = 0; i < restarts.size(); ++i) {
    const std::size_t at = std::min(restarts[i], steps.size());
    const std::size_t before = i > 0 ? (at - restarts[i - 1]) / 2 : at;
    const std::size_t after = i + 1 < restarts.size() ? (restarts[i + 1] - at) / 2 : steps.size() - at;
    const std::size_t count = std::min({around, before, after});
    if (count < kLeastSteps) continue;
    const double change = log_spread(steps.subspan(at, count)) - log_spread(steps.subspan(at - count, count));
    if (std::isfinite(change)) logs.add(change);
  }
  RestartTest out{.restarts = static_cast<int>(logs.count())};
  if (out.restarts < kLeastRestarts) return out;
  const double half = student_half_width(logs, 0.025);
  const double low = logs.mean() - half;
  const double high = logs.mean() + half;
  out.ratio = std::exp(logs.mean());
  out.low = std::exp(low);
  out.high = std::exp(high);
  const bool alike = low > -std::log(kAlike) && high < std::log(kAlike);
  out.verdict = low > 0    ? AfterRestart::Higher
                : high < 0 ? AfterRestart::Lower
                : alike    ? AfterRestart::Equal
                           : AfterRestart::Undecided;
  return out;
}

std::vector<std::size_t> restarts_of(const Sample& sample) {
  std::vector<double> lengths;
  lengths.reserve(sample.steps.size());
  for (const SampleStep& s : sample.steps) lengths.push_back(s.length.count());
  const Seconds long_gap = kUsualSteps * Seconds{median_in_place(lengths)};
  std::vector<std::size_t> out;
  for (std::size_t k = 1; k < sample.steps.size(); ++k) {
    const SampleStep& before = sample.steps[k - 1];
    const SampleStep& step = sample.steps[k];
    const bool again = step.number <= before.number;
    const bool gap =
        step.number == before.number + 1 && step.begin - (before.begin + before.length) > long_gap;
    if (again || gap) out.push_back(k);
  }
  return out;
}

Result<OverTime> over_time_of(const Sample& sample, const MarginOf& margin) {
  OverTime out;
  std::vector<double> margins;
  for (const StepRange& steps : windows_of(sample)) {
    const Sample window = cut(sample, steps.first, steps.count);
    COX_TRY(Structure structure, structure_of(window));
    out.windows.push_back({.steps = steps, .structure = std::move(structure)});
    if (!margin) continue;
    if (const auto m = margin(window)) margins.push_back(*m);
  }
  if (margins.size() != out.windows.size()) margins.clear();
  add_trends(out);
  out.changes = changes_of(sample);
  out.warning = early_warning(sample, margins);
  out.restarts = after_restarts(sample.steps, restarts_of(sample));
  return out;
}

}  // namespace cox::forecast
