// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include "cox/base/stats.hpp"

#include "diagnose/over_time/parts.hpp"

namespace cox::diagnose {
namespace {

constexpr std::size_t kLeastPoints = 4;
/// A gap may be so many periods, the others having been missed.
constexpr int kMostMissed = 3;
/// How far a gap may be from a whole number of periods, in periods per period:
/// a clock's period, a program's, an operator's.
constexpr std::array<double, 3> kTolerances = {0.001, 0.02, 0.12};
constexpr double kMostChance = 1e-3;
constexpr double kLeastFit = 0.75;

/// Where points come at random, gaps are exponential: the part of them that is a whole
/// number of periods by luck.
double luck(double tolerance, double period) {
  double p = 0;
  for (int k = 1; k <= kMostMissed; ++k) {
    const double width = std::max(tolerance * k, 0.5 / period);
    p += std::exp(-(k - width)) - std::exp(-(k + width));
  }
  return std::min(1.0, p);
}

}  // namespace

std::optional<Return> find_return(std::span<const double> at) {
  if (at.size() < kLeastPoints) return std::nullopt;
  std::vector<double> gaps;
  for (std::size_t i = 1; i < at.size(); ++i) gaps.push_back(at[i] - at[i - 1]);
  const double period = median(gaps);
  if (period <= 0) return std::nullopt;
  const auto count = static_cast<std::int64_t>(gaps.size());
  Return best;
  for (const double tolerance : kTolerances) {
    std::int64_t fits = 0;
    double shortest = 0;
    double longest = 0;
    for (const double gap : gaps) {
      const double periods = std::clamp(std::round(gap / period), 1.0, static_cast<double>(kMostMissed));
      if (std::abs(gap - periods * period) > std::max(tolerance * periods * period, 0.5)) continue;
      ++fits;
      if (periods > 1) continue;
      shortest = shortest == 0 ? gap : std::min(shortest, gap);
      longest = std::max(longest, gap);
    }
    // The period is fitted: one gap agrees by itself. Each tolerance is a try.
    const double chance =
        std::min(1.0, static_cast<double>(kTolerances.size()) *
                          binomial_upper_tail(fits - 1, count - 1, luck(tolerance, period)));
    const double part = static_cast<double>(fits) / static_cast<double>(count);
    if (part >= kLeastFit && chance < best.chance) best = {period, shortest, longest, part, chance};
  }
  if (best.chance > kMostChance) return std::nullopt;
  return best;
}

}  // namespace cox::diagnose
