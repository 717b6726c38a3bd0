// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <queue>

#include "cox/base/stats.hpp"

#include "diagnose/over_time/parts.hpp"

namespace cox::diagnose {
namespace {

/// Longer series are cut into so many blocks for the search; positions are refined on the series itself.
constexpr std::size_t kMostBlocks = 256;
/// More candidates than that are not levels but a series that wanders.
constexpr std::size_t kMostLevels = 32;
/// Noise below this part of a value is measured as this: identical values have none.
constexpr double kLeastNoise = 1e-4;
constexpr double kLeastValue = 1e-3;

/// Sum of absolute deviations from the median of what was added so far, in O(log n) per value.
class RunningDeviation {
 public:
  void add(double x) {
    if (low_.empty() || x <= low_.top()) {
      low_.push(x);
      low_sum_ += x;
    } else {
      high_.push(x);
      high_sum_ += x;
    }
    if (low_.size() > high_.size() + 1) {
      move(low_, low_sum_, high_, high_sum_);
    } else if (high_.size() > low_.size()) {
      move(high_, high_sum_, low_, low_sum_);
    }
  }
  [[nodiscard]] double value() const {
    const double middle = low_.top();
    return (high_sum_ - middle * static_cast<double>(high_.size())) +
           (middle * static_cast<double>(low_.size()) - low_sum_);
  }

 private:
  template <class From, class To>
  static void move(From& from, double& from_sum, To& to, double& to_sum) {
    const double x = from.top();
    from.pop();
    from_sum -= x;
    to.push(x);
    to_sum += x;
  }
  std::priority_queue<double> low_;
  std::priority_queue<double, std::vector<double>, std::greater<>> high_;
  double low_sum_ = 0;
  double high_sum_ = 0;
};

double deviation(std::span<const double> part) {
  const double middle = median(part);
  double sum = 0;
  for (const double x : part) sum += std::abs(x - middle);
  return sum;
}

std::vector<double> block_medians(std::span<const double> values, std::size_t blocks) {
  std::vector<double> medians;
  for (std::size_t b = 0; b < blocks; ++b) {
    const std::size_t from = b * values.size() / blocks;
    const std::size_t to = (b + 1) * values.size() / blocks;
    medians.push_back(median(values.subspan(from, to - from)));
  }
  return medians;
}

/// Mean absolute deviation of the noise, from neighbours: levels do not count. 0.84 turns the median
/// difference of neighbours into the mean deviation of normal noise.
double noise_of(std::span<const double> values) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < values.size(); ++i) steps.push_back(std::abs(values[i] - values[i - 1]));
  return std::max(kLeastNoise, 0.84 * median_in_place(steps));
}

/// Boundaries of the partition with least deviation, each costing `penalty`.
std::vector<std::size_t> partition(std::span<const double> values, std::size_t least, double penalty) {
  const std::size_t n = values.size();
  std::vector<double> best(n + 1, std::numeric_limits<double>::infinity());
  std::vector<std::size_t> from(n + 1, 0);
  best[0] = -penalty;
  for (std::size_t begin = 0; begin + least <= n; ++begin) {
    if (!std::isfinite(best[begin])) continue;
    RunningDeviation segment;
    for (std::size_t end = begin; end < n;) {
      segment.add(values[end++]);
      if (end - begin < least) continue;
      const double cost = best[begin] + segment.value() + penalty;
      if (cost < best[end]) {
        best[end] = cost;
        from[end] = begin;
      }
    }
  }
  std::vector<std::size_t> bounds;
  for (std::size_t end = from[n]; end > 0; end = from[end]) bounds.push_back(end);
  std::reverse(bounds.begin(), bounds.end());
  return bounds;
}

/// How many of n values count as independent: by how often neighbours lie on the same side of their level.
double independent(std::span<const double> values, std::size_t at) {
  const double left = median(values.first(at));
  const double right = median(values.subspan(at));
  double same = 0;
  double pairs = 0;
  double before = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double off = values[i] - (i < at ? left : right);
    if (off == 0) continue;
    if (before != 0) {
      same += (off > 0) == (before > 0) ? 1 : -1;
      pairs += 1;
    }
    before = off;
  }
  const double signs = pairs > 0 ? std::clamp(same / pairs, 0.0, 0.99) : 0;
  const double correlation = std::sin(std::numbers::pi / 2 * signs);
  return static_cast<double>(values.size()) * (1 - correlation) / (1 + correlation);
}

/// The change within one stretch, held against no change: absolute deviations mean Laplace noise, whose scale
/// is not known. Every place is as likely before; the second level costs half a logarithm of the values.
LevelChange weigh(std::span<const double> part, std::size_t least, double prior) {
  const std::size_t n = part.size();
  const double none = deviation(part) + kLeastNoise * static_cast<double>(n);
  std::vector<double> cost(n + 1, 0);
  RunningDeviation left;
  for (std::size_t i = 0; i < n; ++i) {
    left.add(part[i]);
    cost[i + 1] += left.value();
  }
  RunningDeviation right;
  for (std::size_t i = n; i-- > 0;) {
    right.add(part[i]);
    cost[i] += right.value();
  }
  std::size_t best = least;
  for (std::size_t at = least; at + least <= n; ++at)
    if (cost[at] < cost[best]) best = at;
  const double weight = independent(part, best);
  std::vector<double> log_factor;
  for (std::size_t at = least; at + least <= n; ++at)
    log_factor.push_back(weight * std::log(none / (cost[at] + kLeastNoise * static_cast<double>(n))));
  const double top = *std::max_element(log_factor.begin(), log_factor.end());
  double sum = 0;
  for (double& f : log_factor) {
    f = std::exp(f - top);
    sum += f;
  }

  const auto places = static_cast<double>(log_factor.size());
  const double log_odds =
      top + std::log(sum / places) - 0.5 * std::log(std::max(2.0, weight)) + std::log(prior / (1 - prior));
  LevelChange change{best, best, best, 1 / (1 + std::exp(-log_odds))};
  double below = 0;
  for (std::size_t i = 0; i < log_factor.size(); ++i) {
    if (below <= 0.05 * sum) change.earliest = least + i;
    below += log_factor[i];
    if (below < 0.95 * sum) change.latest = least + i + 1;
  }
  change.earliest = std::min(change.earliest, best);
  change.latest = std::max(std::min(change.latest, n - least), best);
  return change;
}

/// Weighs each boundary within its two neighbours; nothing where a level is too short to be one.
std::optional<LevelChange> weigh_between(std::span<const double> values, std::size_t from, std::size_t to,
                                         const LevelRules& rules) {
  if (to - from < 2 * rules.least_steps) return std::nullopt;
  const auto part = values.subspan(from, to - from);
  LevelChange change = weigh(part, rules.least_steps, rules.prior);
  const double before = median(part.first(change.at));
  const double after = median(part.subspan(change.at));
  if (std::abs(std::exp(after - before) - 1) < rules.least_shift) change.posterior = 0;
  change.at += from;
  change.earliest += from;
  change.latest += from;
  return change;
}

}  // namespace

std::vector<LevelChange> find_levels(std::span<const double> series, const LevelRules& rules) {
  const std::size_t n = series.size();
  if (n < 2 * rules.least_steps) return {};
  // Shifts are ratios, and the logarithm of a heavy tail is a lighter one.
  std::vector<double> logarithms;
  for (const double x : series) logarithms.push_back(std::log(std::max(x, kLeastValue)));
  const std::span<const double> values = logarithms;
  const std::size_t blocks = std::min(n, kMostBlocks);
  const std::vector<double> coarse = block_medians(values, blocks);
  const std::size_t least = std::max<std::size_t>(2, rules.least_steps * blocks / n);
  std::vector<std::size_t> bounds =
      partition(coarse, least, 2 * std::log(static_cast<double>(blocks)) * noise_of(coarse));
  if (bounds.size() > kMostLevels) return {};
  for (std::size_t& b : bounds) b = b * n / blocks;

  // The weakest boundary goes until all that are left stand.
  for (;;) {
    std::vector<LevelChange> changes;
    std::size_t weakest = 0;
    double least_posterior = 2;
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      const std::size_t from = i == 0 ? 0 : bounds[i - 1];
      const std::size_t to = i + 1 < bounds.size() ? bounds[i + 1] : n;
      changes.push_back(weigh_between(values, from, to, rules).value_or(LevelChange{bounds[i], 0, 0, 0}));
      if (changes.back().posterior < least_posterior) {
        least_posterior = changes.back().posterior;
        weakest = i;
      }
    }
    // Each is moved between its neighbours as they were, so two may have passed each other: the weaker one goes.
    bool crossed = false;
    for (std::size_t i = 1; i < changes.size() && !crossed; ++i)
      if (changes[i].at <= changes[i - 1].at) {
        crossed = true;
        if (least_posterior >= rules.least_posterior)
          weakest = changes[i].posterior < changes[i - 1].posterior ? i : i - 1;
      }
    if (bounds.empty() || (!crossed && least_posterior >= rules.least_posterior)) return changes;
    bounds.erase(bounds.begin() + static_cast<std::ptrdiff_t>(weakest));
  }
}

std::optional<Trend> find_trend(std::span<const double> values) {
  constexpr std::size_t kBlocks = 20;
  const std::size_t n = values.size();
  if (n < 3 * kBlocks) return std::nullopt;
  const std::vector<double> m = block_medians(values, kBlocks);
  std::vector<double> slopes;
  double score = 0;
  for (std::size_t i = 0; i < kBlocks; ++i)
    for (std::size_t j = i + 1; j < kBlocks; ++j) {
      slopes.push_back((m[j] - m[i]) / static_cast<double>(j - i));
      score += m[j] > m[i] ? 1 : m[j] < m[i] ? -1 : 0;
    }
  const double slope = median_in_place(slopes);
  std::vector<double> offsets;
  for (std::size_t i = 0; i < kBlocks; ++i) offsets.push_back(m[i] - slope * (static_cast<double>(i) + 0.5));
  const double begin = median_in_place(offsets);
  constexpr double kVariance = kBlocks * (kBlocks - 1) * (2 * kBlocks + 5) / 18.0;
  const double z = std::max(0.0, std::abs(score) - 1) / std::sqrt(kVariance);
  return Trend{begin, begin + slope * kBlocks, std::erfc(z / std::numbers::sqrt2)};
}

double cost_of_levels(std::span<const double> values, const std::vector<LevelChange>& changes) {
  double cost = 0;
  std::size_t from = 0;
  for (const LevelChange& change : changes) {
    cost += deviation(values.subspan(from, change.at - from));
    from = change.at;
  }
  return cost + deviation(values.subspan(from));
}

double cost_of_trend(std::span<const double> values, const Trend& trend) {
  double cost = 0;
  for (std::size_t i = 0; i < values.size(); ++i) cost += std::abs(values[i] - trend.at(i, values.size()));
  return cost;
}

}  // namespace cox::diagnose
