// SPDX-License-Identifier: Apache-2.0
#include "train/run/step_forecast.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cox/base/assert.hpp"
#include "cox/base/resample.hpp"

namespace cox::train {
namespace {

constexpr std::int64_t kWarm = 3;  ///< first steps meet cold caches and pages
constexpr std::int64_t kFewest = 10, kMost = 200;

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

StepForecast forecast_steps(std::span<const double> first, std::int64_t rest) {
  COX_ASSERT(!first.empty() && rest > 0, "some steps predict some");
  constexpr std::size_t kReplicates = 2000;
  const double mean = mean_of(first);
  const auto length = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(first.size()))));
  SplitMix random(1);
  std::vector<double> means, drawn;
  for (std::size_t i = 0; i < kReplicates; ++i) {
    draw_blocks(first, length, random, drawn);
    means.push_back(mean_of(drawn));
  }
  const Interval middle = middle_95(means);
  const double wider = std::sqrt(1 + static_cast<double>(first.size()) / static_cast<double>(rest));
  return {.mean = Seconds{mean},
          .low = Seconds{mean + (middle.low - mean) * wider},
          .high = Seconds{mean + (middle.high - mean) * wider}};
}

StepWatch::StepWatch(std::int64_t steps)
    : steps_(steps), wanted_(static_cast<std::size_t>(std::clamp(steps / 5, kFewest, kMost))) {}

void StepWatch::took(Seconds step) {
  ++seen_;
  if (made_) {
    behind_ += step;
    return;
  }
  if (seen_ <= kWarm || steps_ < kLeastForecastSteps) return;
  first_.push_back(step.count());
  if (first_.size() < wanted_) return;
  made_ = forecast_steps(first_, steps_ - seen_);
  made_->from = kWarm + 1;
  made_->to = seen_;
}

std::optional<StepForecast> StepWatch::forecast() const {
  std::optional<StepForecast> all = made_;
  if (!all || seen_ == all->to) return {};
  all->rest = seen_ - all->to;
  all->measured = behind_ / static_cast<double>(all->rest);
  return all;
}

}  // namespace cox::train
