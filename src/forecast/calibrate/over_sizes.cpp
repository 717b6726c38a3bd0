// SPDX-License-Identifier: Apache-2.0
#include "forecast/calibrate/over_sizes.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>

#include "cox/base/elementary.hpp"
#include "cox/base/stats.hpp"

namespace cox::forecast {
namespace {

struct Line {
  double at_seen = 0;
  double slope = 0;
  double error = 0;  // of the slope
};

/// Least squares of the first `count` times on g; a slope that would be below zero is zero.
Line fit(const std::vector<SizedTime>& times, std::size_t count, Growth growth) {
  const std::int64_t seen = times.back().ranks;
  double mean_g = 0;
  double mean_y = 0;
  for (std::size_t i = 0; i < count; ++i) {
    mean_g += growth_at(growth, times[i].ranks, seen) / static_cast<double>(count);
    mean_y += times[i].value.count() / static_cast<double>(count);
  }
  double gg = 0;
  double gy = 0;
  double noise = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double g = growth_at(growth, times[i].ranks, seen) - mean_g;
    gg += g * g;
    gy += g * (times[i].value.count() - mean_y);
    noise = std::max(noise, times[i].error.count());
  }
  Line line;
  if (gg > 0) {
    line.slope = std::max(gy / gg, 0.0);
    line.error = noise / std::sqrt(gg);
  }
  line.at_seen = mean_y - line.slope * mean_g;
  return line;
}

}  // namespace

double growth_at(Growth growth, std::int64_t ranks, std::int64_t seen) {
  if (growth == Growth::Logarithm) return logarithm(static_cast<double>(ranks) / static_cast<double>(seen));
  return growth == Growth::Linear ? static_cast<double>(ranks - seen) : 0;
}

std::vector<SizedTime> merged_by_size(const std::vector<SizedTime>& times) {
  std::map<std::int64_t, std::vector<SizedTime>> by_size;
  for (const SizedTime& t : times) by_size[t.ranks].push_back(t);
  std::vector<SizedTime> out;
  for (const auto& [ranks, alike] : by_size) {
    const auto n = static_cast<double>(alike.size());
    Welford values;
    double squares = 0;
    for (const SizedTime& t : alike) {
      values.add(t.value.count());
      squares += t.error.count() * t.error.count();
    }
    const double apart = alike.size() > 1 ? values.stddev() / std::sqrt(n) : 0;
    out.push_back(
        {.ranks = ranks,
         .value = alike.size() > 1 ? Seconds{values.mean()} : alike.front().value,
         .error = alike.size() > 1 ? Seconds{std::max(std::sqrt(squares) / n, apart)} : alike.front().error});
  }
  return out;
}

std::vector<GrowthFit> fit_growth(const std::vector<SizedTime>& times) {
  if (times.size() < 2) return {};
  const SizedTime& largest = times.back();
  std::vector<GrowthFit> fits;
  for (const Growth growth : {Growth::None, Growth::Logarithm, Growth::Linear}) {
    const Line all = fit(times, times.size(), growth);
    GrowthFit found{
        .growth = growth, .slope = Seconds{all.slope}, .error = Seconds{all.error}, .held_out = {}};
    if (growth == Growth::None || times.size() > 2) {
      found.held_out =
          Seconds{std::abs(fit(times, times.size() - 1, growth).at_seen - largest.value.count())};
    } else {
      found.held_out = largest.error;
    }
    fits.push_back(found);
  }
  const SizedTime& before = times[times.size() - 2];
  const double chance = 2 * std::hypot(largest.error.count(), before.error.count());
  const bool still = fits.front().held_out.count() <= chance;
  std::stable_sort(fits.begin() + (still ? 1 : 0), fits.end(),
                   [](const GrowthFit& a, const GrowthFit& b) { return a.held_out < b.held_out; });
  return fits;
}

}  // namespace cox::forecast
