// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "cox/base/assert.hpp"
#include "cox/base/stats.hpp"

#include "forecast/structure/over_time.hpp"

namespace cox::forecast {
namespace {

constexpr double kFalseAlarms = 0.05;
constexpr double kCorrelationTimes = 20;
constexpr std::size_t kLeastSteps = 50;
constexpr int kLeastWindows = 5;

/// P(at least so many of the pairs are in order), any order of n being as likely.
double chance_of(std::size_t n, double in_order) {
  // share[k]: of the orders of m things, those with k pairs in order; the m-th adds 0 to m - 1 of them.
  std::vector<double> share{1};
  for (std::size_t m = 2; m <= n; ++m) {
    std::vector<double> next(share.size() + m - 1, 0.0);
    for (std::size_t k = 0; k < share.size(); ++k)
      for (std::size_t more = 0; more < m; ++more) next[k + more] += share[k] / static_cast<double>(m);
    share = std::move(next);
  }
  double sum = 0;
  for (std::size_t k = share.size(); k > 0 && static_cast<double>(k - 1) >= in_order; --k)
    sum += share[k - 1];
  return std::min(sum, 1.0);
}

/// Correlation of a series with itself one step before; values beyond three spreads count as three.
struct LagOne {
  double products = 0;
  double squares = 0;

  void add(std::span<const double> series) {
    const double middle = median(series);
    const double limit = 3 * scaled_mad(series);
    const auto at = [&](std::size_t k) {
      return limit > 0 ? std::clamp(series[k] - middle, -limit, limit) : series[k] - middle;
    };
    Welford level;
    for (std::size_t k = 0; k < series.size(); ++k) level.add(at(k));
    for (std::size_t k = 0; k < series.size(); ++k) {
      const double x = at(k) - level.mean();
      squares += x * x;
      if (k > 0) products += x * (at(k - 1) - level.mean());
    }
  }
  [[nodiscard]] double value() const { return squares > 0 ? products / squares : 0; }
};

/// Of own work less what all ranks of the step have in common; of step times where one rank is known or none.
void add_memory(const Sample& sample, StepRange steps, LagOne& lag) {
  std::vector<double> series(steps.count);
  const std::size_t ranks = sample.ranks.size();
  if (sample.positions.empty() || ranks < 2) {
    for (std::size_t k = 0; k < steps.count; ++k) series[k] = sample.steps[steps.first + k].length.count();
    lag.add(series);
    return;
  }
  std::vector<double> row(ranks);
  for (const Position& position : sample.positions) {
    std::vector<double> common(steps.count);
    for (std::size_t k = 0; k < steps.count; ++k) {
      for (std::size_t r = 0; r < ranks; ++r) row[r] = position.at(steps.first + k, r, ranks).count();
      common[k] = median_in_place(row);
    }
    for (std::size_t r = 0; r < ranks; ++r) {
      for (std::size_t k = 0; k < steps.count; ++k)
        series[k] = position.at(steps.first + k, r, ranks).count() - common[k];
      lag.add(series);
    }
  }
}

double memory_of(const Sample& sample, StepRange steps) {
  LagOne lag;
  add_memory(sample, steps, lag);
  return lag.value();
}

/// Over ten stretches, each about its own level: a rank that is slow from some step on has no memory by that.
double memory_within(const Sample& sample) {
  LagOne lag;
  const std::size_t length = sample.steps.size() / 10;
  for (std::size_t i = 0; i < 10; ++i) add_memory(sample, {.first = i * length, .count = length}, lag);
  return lag.value();
}

double spread_of_steps(const Sample& sample, StepRange steps) {
  std::vector<double> lengths(steps.count);
  for (std::size_t k = 0; k < steps.count; ++k) lengths[k] = sample.steps[steps.first + k].length.count();
  const double middle = median(lengths);
  return middle > 0 ? scaled_mad(lengths) / middle : 0;
}

}  // namespace

Trend rising(std::span<const double> values) {
  const std::size_t n = values.size();
  COX_ASSERT(n <= 100, "a trend over windows");
  if (n < 2) return {};
  double in_order = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j)
      in_order += values[j] > values[i] ? 1 : values[j] < values[i] ? 0 : 0.5;
  const std::size_t pairs = n * (n - 1) / 2;
  return {.tau = 2 * in_order / static_cast<double>(pairs) - 1, .chance = chance_of(n, in_order)};
}

std::vector<StepRange> windows_of(const Sample& sample, int most_windows) {
  const std::size_t steps = sample.steps.size();
  if (steps < kLeastSteps * kLeastWindows) return {};
  const double phi = std::clamp(memory_within(sample), 0.0, 0.999);
  const double least = std::max(static_cast<double>(kLeastSteps), kCorrelationTimes * (1 + phi) / (1 - phi));
  const auto count = std::min(most_windows, static_cast<int>(static_cast<double>(steps) / least));
  if (count < kLeastWindows) return {};
  const std::size_t length = steps / static_cast<std::size_t>(count);
  std::vector<StepRange> out;
  const std::size_t over = steps - length * static_cast<std::size_t>(count);
  for (std::size_t first = over; first < steps; first += length) out.push_back({first, length});
  return out;
}

EarlyWarning early_warning(const Sample& sample, std::span<const double> margins, int most_windows) {
  EarlyWarning out;
  const std::vector<StepRange> windows = windows_of(sample, most_windows);
  if (windows.empty()) return out;
  out.windows = static_cast<int>(windows.size());
  out.steps = static_cast<std::int64_t>(windows[0].count);
  for (const StepRange& steps : windows) {
    out.spread.push_back(spread_of_steps(sample, steps));
    out.memory.push_back(memory_of(sample, steps));
  }
  out.spread_rises = rising(out.spread);
  out.memory_rises = rising(out.memory);
  double least = std::min(out.spread_rises.chance, out.memory_rises.chance);
  double tests = 2;
  if (!margins.empty()) {
    COX_ASSERT(margins.size() == windows.size(), "a margin per window");
    out.margin.assign(margins.begin(), margins.end());
    std::vector<double> shrinks(margins.begin(), margins.end());
    for (double& m : shrinks) m = -std::abs(m);
    out.margin_falls = rising(shrinks);
    least = std::min(least, out.margin_falls->chance);
    tests = 3;
  }
  out.alarm = least <= kFalseAlarms / tests;
  return out;
}

}  // namespace cox::forecast
