// SPDX-License-Identifier: Apache-2.0
#include "forecast/calibrate/divided_work.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "cox/base/elementary.hpp"
#include "cox/base/stats.hpp"

namespace cox::forecast {
namespace {

constexpr double kLeastApart = 1.05;  ///< of two sizes' own work: nearer tells no power

Welford spread_of(const Position& position) {
  Welford out;
  for (const Seconds x : position.own) out.add(x.count());
  return out;
}

const Sample& by_size(std::span<const Sample> samples, bool largest) {
  const auto less = [](const Sample& a, const Sample& b) { return a.size() < b.size(); };
  return largest ? *std::max_element(samples.begin(), samples.end(), less)
                 : *std::min_element(samples.begin(), samples.end(), less);
}

/// With which power of own work its deviation goes; 1 where nothing tells it.
double spread_power(const Position& small, const Position& large) {
  const Welford a = spread_of(small);
  const Welford b = spread_of(large);
  if (!(b.mean() > 0 && a.mean() > kLeastApart * b.mean() && a.stddev() > 0 && b.stddev() > 0)) return 1;
  return std::clamp(logarithm(a.stddev() / b.stddev()) / logarithm(a.mean() / b.mean()), 0.0, 1.0);
}

/// Mean and deviations of each position as at `large`, but for what of the mean is not divided.
Sample as_at(Sample sample, const Sample& large, const std::vector<double>& powers) {
  const double share = static_cast<double>(sample.size()) / static_cast<double>(large.size());
  const auto ranks = static_cast<std::ptrdiff_t>(sample.ranks.size());
  for (std::size_t p = 0; p < sample.positions.size(); ++p) {
    Position& position = sample.positions[p];
    const double mean = spread_of(position).mean();
    const double there = spread_of(large.positions[p]).mean();
    const double narrower = mean > 0 && there > 0 ? power(there / mean, powers[p]) : share;
    for (std::size_t k = 0; k < sample.steps.size(); ++k) {
      const auto row = position.own.begin() + static_cast<std::ptrdiff_t>(k) * ranks;
      const Seconds before = *std::max_element(row, row + ranks);
      std::for_each(row, row + ranks, [&](Seconds& x) {
        x = std::max(Seconds{mean * share + (x.count() - mean) * narrower}, Seconds{});
      });
      sample.steps[k].length += *std::max_element(row, row + ranks) - before;
    }
  }
  return sample;
}

}  // namespace

Result<Parts> parts_of_samples(std::span<const Sample> samples, WorkOf work) {
  const auto is_told = [&](const Sample& s) {
    return check(s).has_value() && !s.positions.empty() &&
           s.positions.size() == samples.front().positions.size();
  };
  if (work == WorkOf::Rank || samples.empty() || !std::ranges::all_of(samples, is_told))
    return calibrate(samples);
  const Sample& large = by_size(samples, true);
  const Sample& small = by_size(samples, false);
  if (small.size() == large.size()) {
    COX_TRY(Parts parts, calibrate(samples, WorkOf::Whole));
    parts.untold.insert(parts.untold.begin(),
                        "what of own work is not divided by the ranks: all samples have one size");
    return parts;
  }
  std::vector<double> powers;
  for (std::size_t p = 0; p < large.positions.size(); ++p)
    powers.push_back(spread_power(small.positions[p], large.positions[p]));
  std::vector<Sample> alike;
  for (const Sample& s : samples) alike.push_back(s.size() == large.size() ? s : as_at(s, large, powers));
  COX_TRY(Parts parts, calibrate(alike, WorkOf::Whole));
  // By position, then by role: a position's roles were brought to one size by one power.
  const std::size_t roles = parts.positions.size() / powers.size();
  for (std::size_t i = 0; i < parts.positions.size(); ++i)
    parts.positions[i].spread_power = powers[i / roles];
  return parts;
}

}  // namespace cox::forecast
