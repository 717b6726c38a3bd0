// SPDX-License-Identifier: Apache-2.0
#include "forecast/structure/criticality.hpp"

#include <algorithm>
#include <cmath>

#include "cox/base/assert.hpp"

namespace cox::forecast {
namespace {

constexpr double kLeast = -26;  // of y = ln(-ln u): u = 1 - 5e-12
constexpr double kMost = 3.6;   // u = 1e-16
constexpr int kPoints = 600;

/// Levels of probability, even in y = ln(-ln u), with weights that integrate over u.
struct Level {
  double above = 0;  ///< 1 - u, to full precision
  double weight = 0;
};
std::vector<Level> levels() {
  std::vector<Level> out;
  const double step = (kMost - kLeast) / kPoints;
  double sum = 0;
  for (int i = 0; i < kPoints; ++i) {
    const double t = std::exp(kLeast + step * (i + 0.5));
    out.push_back({.above = -std::expm1(-t), .weight = std::exp(-t) * t * step});
    sum += out.back().weight;
  }
  for (Level& one : out) one.weight /= sum;
  return out;
}

/// Half of the ties of a law with steps count: as if each were apart by nothing that matters.
double below_or_half(const Law& law, Seconds x, Seconds apart) {
  return (law.below(x - apart) + law.below(x + apart)) / 2;
}

double log_below(const Law& law, Seconds x, Seconds apart) {
  const double above = apart > Seconds{} ? 1 - below_or_half(law, x, apart) : law.above(x);
  return above < 1 ? std::log1p(-above) : -1e9;
}

/// What law i draws at this level.
Seconds drawn(const Law& law, const Level& level) {
  return law.upper_quantile(level.above);
}

Seconds spread_of(std::span<const Law> laws) {
  Seconds low = laws[0].quantile(0.25);
  Seconds high = laws[0].quantile(0.75);
  for (const Law& law : laws) {
    low = std::min(low, law.quantile(0.25));
    high = std::max(high, law.quantile(0.75));
  }
  return high > low ? high - low : Seconds{1e-12} + 1e-9 * Seconds{std::abs(high.count())};
}

}  // namespace

std::vector<double> criticality_of(std::span<const Law> laws) {
  COX_ASSERT(!laws.empty(), "somebody is last");
  const std::vector<Level> at = levels();
  const Seconds apart = 1e-6 * spread_of(laws);
  std::vector<double> out;
  double sum = 0;
  for (std::size_t i = 0; i < laws.size(); ++i) {
    double share = 0;
    for (const Level& level : at) {
      const Seconds x = drawn(laws[i], level);
      double log = 0;
      for (std::size_t j = 0; j < laws.size() && log > -700; ++j)
        if (j != i) log += log_below(laws[j], x, laws[j].is_discrete() ? apart : Seconds{});
      share += level.weight * std::exp(log);
    }
    out.push_back(share);
    sum += share;
  }
  for (double& share : out) share = sum > 0 ? share / sum : 1 / static_cast<double>(laws.size());
  return out;
}

PairCoupling coupling_of(std::span<const Law> laws, std::size_t i, std::size_t j) {
  COX_ASSERT(i < laws.size() && j < laws.size() && i != j, "a pair");
  const Seconds width = 1e-3 * (laws[j].quantile(0.84) - laws[j].quantile(0.16));
  if (!(width > Seconds{})) return {};
  double sum = 0;
  for (const Level& level : levels()) {
    const Seconds x = drawn(laws[i], level);
    double log = 0;
    for (std::size_t k = 0; k < laws.size(); ++k)
      if (k != i && k != j) log += log_below(laws[k], x, Seconds{});
    const double density = (laws[j].above(x - width) - laws[j].above(x + width)) / (2 * width.count());
    sum += level.weight * density * std::exp(log);
  }
  return {.per_second = sum};
}

double kept_at_barrier(const Law& own, std::int64_t ranks, Seconds delay) {
  COX_ASSERT(ranks >= 1 && delay > Seconds{}, "a delay at a barrier");
  // Places where either F bends: its own quantiles, and those a delay later.
  std::vector<Seconds> x;
  for (int i = 0; i <= 2 * kPoints; ++i) {
    const double t = std::exp(kLeast + (kMost - kLeast) * i / (2 * kPoints));
    const Seconds q = own.upper_quantile(-std::expm1(-t));
    x.push_back(q);
    x.push_back(q + delay);
  }
  std::ranges::sort(x);
  const auto others = static_cast<double>(ranks - 1);
  const auto value = [&](Seconds at) {
    const double rise = own.above(at - delay) - own.above(at);  // F(x) - F(x - d)
    const double above = own.above(at);
    return ranks == 1 ? rise : above < 1 ? rise * std::exp(others * std::log1p(-above)) : 0;
  };
  double sum = 0;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    const double h = (x[i + 1] - x[i]).count();
    if (!(h > 0)) continue;
    // Ends of a step are taken from inside it.
    const Seconds a = x[i] + 1e-9 * (x[i + 1] - x[i]);
    const Seconds b = x[i + 1] - 1e-9 * (x[i + 1] - x[i]);
    sum += h / 6 * (value(a) + 4 * value((a + b) / 2.0) + value(b));
  }
  return std::clamp(sum / delay.count(), 0.0, 1.0);
}

}  // namespace cox::forecast
