// SPDX-License-Identifier: Apache-2.0
#include "forecast/simulated/spread.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "cox/base/stats.hpp"

namespace cox::forecast {
namespace {

constexpr double kRounding = 5e-3;

/// Whether steps are as good as independent, so that they can be counted.
bool is_fresh(const model::NoiseSource& n) {
  constexpr double kLittle = 0.3;
  return n.off || (n.pattern == model::NoisePattern::EveryStep && n.correlation <= kLittle);
}

/// Between which places of the sorted steps a quantile lies, `sigmas` deviations of the binomial on either side.
std::pair<double, double> places_of(double q, std::int64_t steps, double sigmas) {
  const double sd = std::sqrt(q * (1 - q) / static_cast<double>(steps));
  return {std::max(q - sigmas * sd, 0.0), std::min(q + sigmas * sd, 1.0)};
}

/// Of few values on a line between two of them: a dozen steps have a longest, and the 99th percentile is near it.
double quantile_of(const QuantileSketch& lengths, double q) {
  constexpr std::int64_t kMany = 1'000;
  const std::int64_t n = lengths.count();
  if (n < 2 || n >= kMany) return lengths.quantile(q);
  const auto last = static_cast<double>(n - 1);
  const double below = std::floor(q * last), above = std::min(below + 1, last);
  // The middle of a rank's part of the way: rounding takes neither another one.
  const auto at = [&](double rank) {
    return lengths.quantile(std::min((rank + 0.5) / last, rank < last ? 1 - 1e-9 : 1.0));
  };
  const double a = at(below);
  return a + (q * last - below) * (at(above) - a);
}

/// Whether a quantile of so many steps is another one than forecast. Nothing is longer than the longest only where a longer one would be there.
bool differs(const QuantileSketch& lengths, double q, const TimeBand& forecast) {
  constexpr double kSigmas = 2.8;
  const auto [low, high] = places_of(q, lengths.count(), kSigmas);
  const double value = forecast.value.count();
  return lengths.quantile(low) > (1 + kRounding) * value ||
         (high < 1 && lengths.quantile(high) < (1 - kRounding) * value);
}

SimulatedOver over(const QuantileSketch& lengths, double q, const TimeBand& forecast) {
  constexpr double kSigmas = 1.645;
  const auto [low, high] = places_of(q, lengths.count(), kSigmas);
  const double value = forecast.value.count();
  return {.value = quantile_of(lengths, q) / value,
          .low = lengths.quantile(low) / value,
          .high = lengths.quantile(high) / value};
}

/// A part of the way from a to b, and a band that holds both; at an end its own.
SimulatedOver between(const SimulatedOver& a, const SimulatedOver& b, double part) {
  if (part <= 0) return a;
  if (part >= 1) return b;
  return {.value = a.value * std::pow(b.value / a.value, part),
          .low = std::min(a.low, b.low),
          .high = std::max(a.high, b.high)};
}

/// A quantile is at least the one before.
void raise(TimeBand& band, const TimeBand& least) {
  band = {std::max(band.value, least.value), std::max(band.low, least.low), std::max(band.high, least.high)};
}

void scale(TimeBand& band, const SimulatedOver& by) {
  band = {by.value * band.value, std::min(by.low * band.value, by.value * band.low),
          std::max(by.high * band.value, by.value * band.high)};
}

}  // namespace

double cv_of(const QuantileSketch& lengths) {
  constexpr std::int64_t kMost = 1'000;
  const std::int64_t points = std::min(lengths.count(), kMost);
  Welford all;
  constexpr std::int64_t kFew = 100;  // of these each is one of the points, the longest too
  const auto place = [points](std::int64_t i) {
    const auto at = static_cast<double>(i), n = static_cast<double>(points);
    return n < kFew && n > 1 ? (at + 0.25) / (n - 1) : (at + 0.5) / n;
  };
  for (std::int64_t i = 0; i < points; ++i) all.add(lengths.quantile(place(i)));
  return all.mean() > 0 ? all.stddev() / all.mean() : 0;
}

bool steps_are_fresh(const model::Scenario& scenario) {
  return std::ranges::all_of(scenario.noise, is_fresh);
}

std::optional<SpreadRatios> spread_of(const QuantileSketch& lengths, const SizePoint& p, bool whole,
                                      bool still) {
  constexpr std::int64_t kFewest = 100, kFewestOfAll = 5;
  if (lengths.count() < (whole ? kFewestOfAll : kFewest)) return std::nullopt;
  if (still && whole) {
    const auto exactly = [&](double q, const TimeBand& forecast) {
      const double over = quantile_of(lengths, q) / forecast.value.count();
      return SimulatedOver{.value = over, .low = over, .high = over};
    };
    SpreadRatios out{
        .median = exactly(0.5, p.median), .p95 = exactly(0.95, p.p95), .p99 = exactly(0.99, p.p99)};
    out.cv_beside = cv_of(lengths);
    const bool alike = std::abs(out.p99.value - 1) < kRounding && std::abs(out.median.value - 1) < kRounding;
    return alike ? std::nullopt : std::optional(out);
  }
  if ((!differs(lengths, 0.5, p.median) && !differs(lengths, 0.95, p.p95) && !differs(lengths, 0.99, p.p99)))
    return std::nullopt;
  const double cv = cv_of(lengths);
  return SpreadRatios{.median = over(lengths, 0.5, p.median),
                      .p95 = over(lengths, 0.95, p.p95),
                      .p99 = over(lengths, 0.99, p.p99),
                      .cv = p.cv > 0 && cv > 0 ? cv / p.cv : 1,
                      .cv_beside = p.cv > 0 ? 0 : cv};
}

SpreadRatios between(const SpreadRatios& from, const SpreadRatios& to, double part) {
  return {.median = between(from.median, to.median, part),
          .p95 = between(from.p95, to.p95, part),
          .p99 = between(from.p99, to.p99, part),
          .cv = from.cv * std::pow(to.cv / from.cv, part),
          .cv_beside = from.cv_beside + part * (to.cv_beside - from.cv_beside)};
}

void vary_as(SizePoint& p, const SpreadRatios& by) {
  scale(p.median, by.median);
  scale(p.p95, by.p95);
  scale(p.p99, by.p99);
  scale(p.p999, by.p99);
  raise(p.p95, p.median);
  raise(p.p99, p.p95);
  raise(p.p999, p.p99);
  p.cv = p.cv * by.cv + by.cv_beside;
}

}  // namespace cox::forecast
