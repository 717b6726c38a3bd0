// SPDX-License-Identifier: Apache-2.0
#include "diagnose/naming/scatter.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cox/base/stats.hpp"

namespace cox::diagnose {
namespace {

constexpr std::size_t kMostValues = 1000;  // more are taken in blocks: a bound of the cost
constexpr double kCutAt = 2.5;             // spreads
constexpr double kMostCorrelation = 0.99;  // of neighbours
constexpr double kMedianError = 1.2533;    // of a normal sample, over that of the mean: sqrt(pi / 2)
constexpr std::size_t kFewRows = 16;       // of more, one does not move the median
constexpr int kCorrections = 2;
// standard deviation of a difference of two rounded values, in units
const double kRounded = 1 / std::sqrt(6.0);

std::vector<double> in_blocks(std::span<const double> values) {
  const std::size_t n = values.size();
  const std::size_t blocks = std::min(n, kMostValues);
  std::vector<double> copy(values.begin(), values.end());
  std::vector<double> out;
  for (std::size_t b = 0; b < blocks; ++b) {
    const std::size_t from = b * n / blocks;
    out.push_back(median_in_place(std::span(copy).subspan(from, (b + 1) * n / blocks - from)));
  }
  return out;
}

/// Correlation of values that are `lag` apart; they have mean 0.
double correlation_at(const std::vector<double>& off, double variance, std::size_t lag) {
  const std::size_t pairs = off.size() - lag;
  const double sum = std::inner_product(off.begin(), off.begin() + static_cast<std::ptrdiff_t>(pairs),
                                        off.begin() + static_cast<std::ptrdiff_t>(lag), 0.0);
  return sum / static_cast<double>(pairs) / variance;
}

double summed_correlation(std::vector<double> off, double levels) {
  const auto n = static_cast<double>(off.size());
  const double mean = std::accumulate(off.begin(), off.end(), 0.0) / n;
  for (double& x : off) x -= mean;
  const double variance = std::inner_product(off.begin(), off.end(), off.begin(), 0.0) / n;
  if (variance <= 0) return 1;
  std::vector<double> at;
  for (std::size_t lag = 1; lag < off.size() / 3; ++lag) at.push_back(correlation_at(off, variance, lag));
  if (at.empty()) return 1;
  // The mean of a short series follows its values, and takes their correlation with it.
  double sum = 1;
  for (int round = 0; round <= kCorrections; ++round) {
    const double lacking = round == 0 ? 0 : levels * sum / n;
    sum = 1 + 2 * (at[0] + lacking);
    for (std::size_t k = 1; k + 1 < at.size(); k += 2) {
      const double pair = at[k] + at[k + 1] + 2 * lacking;
      if (pair <= 0) break;
      sum += 2 * pair;
    }
    sum = std::clamp(sum, 1.0, n);
  }
  const double neighbours = std::clamp(at[0] + levels * (1 + 3 * at[0]) / n, 0.0, kMostCorrelation);
  return std::max(sum, (1 + neighbours) / (1 - neighbours));
}

}  // namespace

double Scatter::error(double part) const {
  return std::hypot(kMedianError * spread / std::sqrt(std::max(1.0, independent) * part),
                    resolution * kRounded);
}

std::int64_t Scatter::freedom() const {
  return std::max<std::int64_t>(1,
                                static_cast<std::int64_t>(independent) - static_cast<std::int64_t>(levels));
}

Scatter scatter_of(std::span<const double> values, std::size_t levels, double resolution) {
  Scatter out;
  out.levels = levels;
  out.resolution = resolution;
  if (values.empty()) return out;
  std::vector<double> blocks = in_blocks(values);
  out.center = median(values);
  out.spread = std::max(scaled_mad(blocks), resolution * kRounded);
  out.independent = static_cast<double>(blocks.size());
  if (out.spread <= 0) return out;
  for (double& b : blocks) b = std::clamp((b - out.center) / out.spread, -kCutAt, kCutAt);
  out.independent /= out.correlation = summed_correlation(std::move(blocks), static_cast<double>(levels));
  return out;
}

std::vector<double> beyond_others(std::span<const std::vector<Duration>> delays, Duration step,
                                  std::size_t row, const std::vector<std::size_t>& late) {
  std::vector<std::size_t> others;
  for (std::size_t q = 0; q < delays.size() && delays.size() <= kFewRows; ++q)
    if (q != row && std::find(late.begin(), late.end(), q) == late.end()) others.push_back(q);
  std::vector<double> out(delays[row].size());
  std::vector<double> theirs(others.size());
  for (std::size_t s = 0; s < out.size(); ++s) {
    out[s] = ratio(delays[row][s], step);
    if (others.empty()) continue;
    for (std::size_t i = 0; i < others.size(); ++i) theirs[i] = ratio(delays[others[i]][s], step);
    out[s] -= median_in_place(theirs);
  }
  return out;
}

double chance_of_level(double height, const Scatter& scatter, double part) {
  return chance_of_height(height, scatter.error(part), scatter.freedom());
}

double chance_of_height(double height, double error, std::int64_t freedom) {
  if (error <= 0) return height > 0 ? 0 : 1;
  return student_upper_tail(height / error, freedom);
}

double error_of_one_more(const Welford& values, double resolution) {
  const auto n = static_cast<double>(values.count());
  return std::hypot(values.stddev() * std::sqrt(1 + 1 / n), resolution * kRounded);
}

double level_by_chance(double chance, const Scatter& scatter) {
  return student_quantile(chance, scatter.freedom()) * scatter.error();
}

}  // namespace cox::diagnose
