// SPDX-License-Identifier: Apache-2.0
// Crowds and fixed phases in a series of plain numbers.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "cox/base/elementary.hpp"
#include "cox/base/stats.hpp"

#include "diagnose/over_time/parts.hpp"

namespace cox::diagnose {
namespace {

constexpr double kMostChance = 1e-4;

// Crowds.
constexpr std::size_t kLeastCrowd = 5;
/// Neighbours in a crowd are nearer than this part of the usual distance.
constexpr double kNear = 0.25;

// Phases.
constexpr std::size_t kLongestPeriod = 256;
constexpr std::size_t kLeastTimes = 12;
/// Bounds the work of folding a long series.
constexpr std::size_t kMostFolded = std::size_t{1} << 24;
constexpr double kClipSpreads = 4;
constexpr int kLags = 3;
/// A phase is lifted too where it is by this part of the most lifted one.
constexpr double kAlso = 0.4;
constexpr double kLeastPhase = 0.005;
constexpr double kSignChance = 0.02;

double normal_upper_tail(double z) {
  return 0.5 * std::erfc(z / std::numbers::sqrt2);
}

/// Values by their place in order, as those of a normal sample: a heavy tail, whose neighbours would stand in for
/// others, goes.
std::vector<double> normal_scores(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> scores(values.size());
  const auto n = static_cast<double>(values.size());
  for (std::size_t first = 0, end = 0; first < order.size(); first = end) {
    do ++end;
    while (end < order.size() && values[order[end]] == values[order[first]]);
    const double place = static_cast<double>(first + end) / 2 / n;  // equal values share theirs
    for (std::size_t i = first; i < end; ++i) scores[order[i]] = place;
  }
  normal_quantiles(scores);
  return scores;
}

/// Each value less the mean of its neighbours: what is slow in the series goes, what is short stays.
std::vector<double> against_neighbours(std::span<const double> values) {
  std::vector<double> out(values.size(), 0.0);
  for (std::size_t i = 1; i + 1 < values.size(); ++i)
    out[i] = values[i] - (values[i - 1] + values[i + 1]) / 2;
  const double bound = kClipSpreads * scaled_mad(out);
  for (double& x : out) x = std::clamp(x, -bound, bound);
  return out;
}

double covariance(std::span<const double> values, std::size_t lag) {
  if (lag >= values.size()) return 0;
  double sum = 0;
  for (std::size_t i = lag; i < values.size(); ++i) sum += values[i] * values[i - lag];
  return sum / static_cast<double>(values.size());
}

/// Variance of one value within a sum over every `period`-th. A value less its neighbours is hardly related to
/// those three and more away, however much the series wanders.
double variance_in_sums(std::span<const double> values, double alone, std::size_t period) {
  if (period > 2) return alone;
  double sum = alone;
  for (int k = 1; k <= kLags; ++k) sum += 2 * covariance(values, static_cast<std::size_t>(k) * period);
  return std::max(sum, alone);
}

struct Fold {
  std::vector<double> sums;
  std::vector<std::int64_t> counts;
};

void fold(std::span<const double> values, std::span<const std::int64_t> numbers, std::size_t period,
          Fold& out) {
  out.sums.assign(period, 0.0);
  out.counts.assign(period, 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<std::size_t>(numbers[i]) % period;
    out.sums[at] += values[i];
    ++out.counts[at];
  }
}

/// Whether the ascending numbers differ by what fits; a damaged recording may hold anything.
bool can_subtract(std::span<const std::int64_t> numbers) {
  constexpr std::int64_t kFarthest = std::int64_t{1} << 62;
  return numbers.front() > -kFarthest && numbers.back() < kFarthest &&
         std::is_sorted(numbers.begin(), numbers.end());
}

/// Numbers from 0, in their largest common step, which is returned.
std::int64_t normalise(std::span<const std::int64_t> numbers, std::vector<std::int64_t>& out) {
  std::int64_t stride = 0;
  for (std::size_t i = 1; i < numbers.size(); ++i) stride = std::gcd(stride, numbers[i] - numbers[0]);
  stride = std::max<std::int64_t>(1, stride);
  for (const std::int64_t n : numbers) out.push_back((n - numbers[0]) / stride);
  return stride;
}

/// Every second multiple of a period is one as well: the smallest whose phases are all lifted.
std::size_t smallest_period(std::span<const double> values, std::span<const std::int64_t> numbers,
                            std::size_t period, std::size_t phase) {
  Fold folded;
  fold(values, numbers, period, folded);
  const auto mean = [&](std::size_t at) {
    return folded.sums[at] / static_cast<double>(std::max<std::int64_t>(1, folded.counts[at]));
  };
  for (std::size_t smaller = 2; smaller < period; ++smaller) {
    if (period % smaller != 0) continue;
    bool all = true;
    for (std::size_t at = phase % smaller; at < period; at += smaller)
      all = all && mean(at) >= kAlso * mean(phase);
    if (all) return smaller;
  }
  return period;
}

double lift_of(std::span<const double> values, std::span<const std::int64_t> numbers, std::size_t period,
               std::size_t phase) {
  std::vector<double> there;
  std::vector<double> elsewhere;
  for (std::size_t i = 0; i < values.size(); ++i)
    (static_cast<std::size_t>(numbers[i]) % period == phase ? there : elsewhere).push_back(values[i]);
  const double usual = median_in_place(elsewhere);
  return usual > 0 ? median_in_place(there) / usual - 1 : 0;
}

/// Of as many values above their neighbours at that phase, were either as likely.
double chance_of_signs(std::span<const double> contrast, std::span<const std::int64_t> numbers,
                       std::size_t period, std::size_t phase) {
  std::int64_t above = 0;
  std::int64_t all = 0;
  for (std::size_t i = 1; i + 1 < contrast.size(); ++i) {
    if (static_cast<std::size_t>(numbers[i]) % period != phase) continue;
    ++all;
    above += contrast[i] > 0;
  }
  return binomial_upper_tail(above, all, 0.5);
}

}  // namespace

std::vector<Crowd> find_crowds(std::span<const std::size_t> at, std::size_t n) {
  std::vector<Crowd> found;
  const auto count = static_cast<std::int64_t>(at.size());
  if (at.size() < kLeastCrowd) return found;
  const double near = std::max(2.0, kNear * static_cast<double>(n) / static_cast<double>(at.size()));
  for (std::size_t first = 0, last = 0; first < at.size(); first = last + 1) {
    last = first;
    while (last + 1 < at.size() && static_cast<double>(at[last + 1] - at[last]) <= near) ++last;
    const std::size_t width = at[last] - at[first] + 1;
    const auto here = static_cast<std::int64_t>(last - first + 1);
    if (last - first + 1 < kLeastCrowd || 3 * width > n) continue;
    const double part = static_cast<double>(width) / static_cast<double>(n);
    const double chance =
        std::min(1.0, static_cast<double>(count) * binomial_upper_tail(here - 1, count - 1, part));
    if (chance < kMostChance) found.push_back({at[first], at[last], here, chance});
  }
  return found;
}

std::optional<FixedPhase> find_phase(std::span<const double> values, std::span<const std::int64_t> numbers) {
  const std::size_t n = values.size();
  const std::size_t longest =
      std::min({kLongestPeriod, n / kLeastTimes, kMostFolded / std::max<std::size_t>(1, n)});
  if (longest < 2 || !can_subtract(numbers)) return std::nullopt;
  std::vector<std::int64_t> places;
  const std::int64_t stride = normalise(numbers, places);
  const std::vector<double> contrast = against_neighbours(normal_scores(values));
  const double alone = covariance(contrast, 0);
  if (alone <= 0) return std::nullopt;
  const double tries = static_cast<double>(longest) * static_cast<double>(longest + 1) / 2;
  double highest = 0;
  FixedPhase best;
  std::size_t best_phase = 0;
  Fold folded;
  for (std::size_t period = 2; period <= longest; ++period) {
    fold(contrast, places, period, folded);
    const double variance = variance_in_sums(contrast, alone, period);
    for (std::size_t phase = 0; phase < period; ++phase) {
      if (folded.counts[phase] < static_cast<std::int64_t>(kLeastTimes) - 1) continue;
      const double z = folded.sums[phase] / std::sqrt(static_cast<double>(folded.counts[phase]) * variance);
      if (z <= highest) continue;
      highest = z;
      best_phase = phase;
      best.period = static_cast<std::int64_t>(period);
      best.count = folded.counts[phase];
    }
  }
  best.chance = std::min(1.0, tries * normal_upper_tail(highest));
  if (best.chance > kMostChance) return std::nullopt;
  const std::size_t period =
      smallest_period(contrast, places, static_cast<std::size_t>(best.period), best_phase);
  best.count *= best.period / static_cast<std::int64_t>(period);
  best.period = static_cast<std::int64_t>(period);
  best_phase %= period;
  best.over = lift_of(values, places, period, best_phase);
  // A few outliers are not every n-th value.
  if (best.over < kLeastPhase || chance_of_signs(contrast, places, period, best_phase) > kSignChance)
    return std::nullopt;
  best.period *= stride;
  const std::int64_t number = numbers[0] + static_cast<std::int64_t>(best_phase) * stride;
  best.phase = ((number % best.period) + best.period) % best.period;
  return best;
}

}  // namespace cox::diagnose
