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
/// Of a shift at one place that noise would give; there are many places.
constexpr double kShiftChance = 2e-6;
/// Standard error of a median, over that of a mean.
constexpr double kMedianError = 1.2533;
/// Mean absolute deviation of normal values to their standard deviation; outliers count as no more than this.
constexpr double kMeanToSpread = 1.2533;
constexpr double kFarOff = 6;
constexpr int kMostMoves = 8;

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

/// Part of the values that count as independent, by how often neighbours lie on the same side of zero.
double independent_of_signs(std::span<const double> off) {
  double same = 0;
  double pairs = 0;
  double before = 0;
  for (const double x : off) {
    if (x == 0) continue;
    if (before != 0) {
      same += (x > 0) == (before > 0) ? 1 : -1;
      pairs += 1;
    }
    before = x;
  }
  const double signs = pairs > 0 ? std::clamp(same / pairs, 0.0, 0.99) : 0;
  const double correlation = std::sin(std::numbers::pi / 2 * signs);
  return (1 - correlation) / (1 + correlation);
}

std::vector<double> off_levels(std::span<const double> values, std::size_t at) {
  const double left = median(values.first(at));
  const double right = median(values.subspan(at));
  std::vector<double> off;
  for (std::size_t i = 0; i < values.size(); ++i) off.push_back(values[i] - (i < at ? left : right));
  return off;
}

/// How many of the values count as independent around the levels on both sides of `at`.
double independent(std::span<const double> values, std::size_t at) {
  return static_cast<double>(values.size()) * independent_of_signs(off_levels(values, at));
}

/// Robust spread of values that may as well lie in two places, where the median of their deviations says little.
double spread_of(std::span<const double> off) {
  const double spread = std::max(kLeastNoise, scaled_mad(off));
  double sum = 0;
  for (const double x : off) sum += std::min(std::abs(x), kFarOff * spread);
  return std::max(spread, kMeanToSpread * sum / static_cast<double>(off.size()));
}

/// How far the levels on both sides of `at` are apart, over how far noise of this spread, correlation and
/// length would set the medians apart at any place of the series.
double strength_of_shift(std::span<const double> part, std::size_t at) {
  const std::vector<double> off = off_levels(part, at);
  const double shift = median(part.subspan(at)) - median(part.first(at));
  const double count = static_cast<double>(part.size()) * independent_of_signs(off);
  const double part_before = static_cast<double>(at) / static_cast<double>(part.size());
  const double error = kMedianError * spread_of(off) / std::sqrt(count * part_before * (1 - part_before));
  const auto freedom = std::max<std::int64_t>(1, std::llround(count) - 2);
  return std::abs(shift) / (student_quantile(kShiftChance, freedom) * error);
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

/// Correlation of neighbours around a fitted line. Few values and two fitted ones make it look smaller than
/// it is (Kendall 1954): that is given back.
double correlation_of_blocks(std::span<const double> off) {
  double products = 0;
  double squares = 0;
  for (std::size_t i = 0; i < off.size(); ++i) {
    squares += off[i] * off[i];
    if (i > 0) products += off[i] * off[i - 1];
  }
  if (squares <= 0) return 0;
  const auto n = static_cast<double>(off.size());
  const double r = products / squares;
  return std::clamp(r + (2 + 4 * r) / n, 0.0, 0.95);
}

/// A boundary and how far it is above what it needs to stand: 1 and more stands.
struct Weighed {
  LevelChange change;
  double strength = 0;
};

/// Weighs a boundary within its two neighbours; a level that is too short to be one does not stand.
Weighed weigh_between(std::span<const double> values, std::size_t from, std::size_t at, std::size_t to,
                      const LevelRules& rules) {
  if (to - from < 2 * rules.least_steps) return {LevelChange{at, at, at, 0}, 0};
  const auto part = values.subspan(from, to - from);
  LevelChange change = weigh(part, rules.least_steps, rules.prior);
  const double shift =
      std::abs(std::exp(median(part.subspan(change.at)) - median(part.first(change.at))) - 1);
  const double strength = std::min({change.posterior / rules.least_posterior, shift / rules.least_shift,
                                    strength_of_shift(part, change.at)});
  change.at += from;
  change.earliest += from;
  change.latest += from;
  return {change, strength};
}

/// All boundaries, each between its neighbours.
std::vector<Weighed> weigh_all(std::span<const double> values, const std::vector<std::size_t>& bounds,
                               const LevelRules& rules) {
  std::vector<Weighed> weighed;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const std::size_t from = i == 0 ? 0 : bounds[i - 1];
    const std::size_t to = i + 1 < bounds.size() ? bounds[i + 1] : values.size();
    weighed.push_back(weigh_between(values, from, bounds[i], to, rules));
  }
  return weighed;
}

/// Which boundary has to go, if any.
std::optional<std::size_t> weakest_of(const std::vector<Weighed>& weighed) {
  const auto least = std::min_element(weighed.begin(), weighed.end(), [](const Weighed& a, const Weighed& b) {
    return a.strength < b.strength;
  });
  if (least != weighed.end() && least->strength < 1) return static_cast<std::size_t>(least - weighed.begin());
  // Each is moved between its neighbours as they were, so two may have passed each other: the weaker one goes.
  for (std::size_t i = 1; i < weighed.size(); ++i)
    if (weighed[i].change.at <= weighed[i - 1].change.at)
      return weighed[i].strength < weighed[i - 1].strength ? i : i - 1;
  return std::nullopt;
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

  // The weakest boundary goes until all that are left stand, where they have moved to as well.
  for (int moves = 0;;) {
    const std::vector<Weighed> weighed = weigh_all(values, bounds, rules);
    if (const auto weakest = weakest_of(weighed)) {
      bounds.erase(bounds.begin() + static_cast<std::ptrdiff_t>(*weakest));
      continue;
    }
    std::vector<LevelChange> changes;
    std::vector<std::size_t> moved;
    for (const Weighed& w : weighed) {
      changes.push_back(w.change);
      moved.push_back(w.change.at);
    }
    if (moved == bounds || ++moves > kMostMoves) return changes;
    bounds = std::move(moved);
  }
}

double least_shift(std::span<const double> values, const LevelRules& rules) {
  // At the bar itself every second shift would be found.
  constexpr double kMargin = 1.5;
  if (values.size() < 2 * rules.least_steps) return 0;
  std::vector<double> off;
  for (const double x : values) off.push_back(std::log(std::max(x, kLeastValue)));
  const double level = median(off);
  for (double& x : off) x -= level;
  const double count = static_cast<double>(off.size()) * independent_of_signs(off);
  const double error = kMedianError * spread_of(off) * 2 / std::sqrt(count);
  const auto freedom = std::max<std::int64_t>(1, std::llround(count) - 2);
  const double shift =
      std::expm1(kMargin * std::max(rules.least_shift, student_quantile(kShiftChance, freedom) * error));
  return shift < 1 ? shift : 0;
}

double independent_share(std::span<const double> values, double center) {
  std::vector<double> off;
  for (const double x : values) off.push_back(x - center);
  return independent_of_signs(off);
}

std::optional<Trend> find_trend(std::span<const double> values) {
  constexpr std::size_t kBlocks = 20;  // of a step or two where there are less than sixty
  if (values.size() < kBlocks) return std::nullopt;
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
  std::vector<double> off;
  for (std::size_t i = 0; i < kBlocks; ++i)
    off.push_back(m[i] - begin - slope * (static_cast<double>(i) + 0.5));
  const double correlation = correlation_of_blocks(off);
  const double z =
      std::max(0.0, std::abs(score) - 1) / std::sqrt(kVariance * (1 + correlation) / (1 - correlation));
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
