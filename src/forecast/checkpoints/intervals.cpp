// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "cox/base/assert.hpp"
#include "cox/base/elementary.hpp"

#include "forecast/checkpoints/goodput.hpp"

namespace cox::forecast {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// W0(-e^(-1 - c)) + 1 for c >= 0: the x in [0, 1) with (1 - x) e^x = e^-c. Newton from the series at c = 0, where
/// W0 + 1 = sqrt(2c) - 2c/3: no cancellation, however small c is.
double lambert_gap(double c) {
  if (c <= 0) return 0;
  if (c > 30) return -std::expm1(-1 - c);  // what is left out is its square
  // ln(1 - x) + x + c = 0, the left side by log1p; its slope is -x / (1 - x).
  const double p = std::sqrt(2 * c);
  double x = std::min(p, 1 - std::exp(-1 - c));
  for (int i = 0; i < 100; ++i) {
    const double at = std::log1p(-x) + x + c;
    const double next = std::min(x + at * (1 - x) / x, (1 + x) / 2);
    if (std::abs(next - x) <= 1e-15 * x) return next;
    x = next;
  }
  return x;
}

}  // namespace

Seconds young_interval(Seconds checkpoint, Seconds between) {
  return Seconds{std::sqrt(2 * checkpoint.count() * between.count())};
}

Seconds daly_interval(Seconds checkpoint, Seconds between) {
  const double half = checkpoint / between / 2;
  if (half >= 1) return between;
  return young_interval(checkpoint, between) * (1 + std::sqrt(half) / 3 + half / 9) - checkpoint;
}

Seconds best_interval(Seconds checkpoint, Seconds between) {
  if (std::isinf(between.count())) return between;
  return between * lambert_gap(checkpoint / between);
}

double wall_over_work(Seconds interval, Seconds checkpoint, Seconds restart, Seconds between) {
  if (std::isinf(between.count())) return (interval + checkpoint) / interval;
  return between / interval * std::exp(restart / between) * std::expm1((interval + checkpoint) / between);
}

Survival weibull_survival(Seconds mean, double shape) {
  const Seconds scale = mean / gamma_function(1 + 1 / shape);
  return [scale, shape](Seconds t) { return t > Seconds{} ? std::exp(-std::pow(t / scale, shape)) : 1.0; };
}

double wall_over_work(Seconds interval, Seconds checkpoint, Seconds restart, Seconds mean,
                      const Survival& survival) {
  constexpr int kMostTerms = 10'000'000;
  double completed = 0;  // mean number of checkpoints in a life
  for (int j = 1; j < kMostTerms; ++j) {
    const double lasts = survival(restart + (interval + checkpoint) * j);
    completed += lasts;
    if (lasts <= 1e-14 * completed) break;
  }
  return completed > 0 ? mean / interval / completed : kInfinite;
}

Seconds least_cost(Seconds least, Seconds most, const std::function<double(Seconds)>& cost) {
  COX_ASSERT(least > Seconds{} && most >= least, "bounds in order");
  constexpr int kGrid = 200;
  const double low = std::log(least.count()), step = (std::log(most.count()) - low) / kGrid;
  const auto at = [&](double x) { return cost(Seconds{std::exp(x)}); };
  int best = 0;
  double best_cost = kInfinite;
  for (int i = 0; i <= kGrid; ++i) {
    const double here = at(low + i * step);
    if (here < best_cost) best = i;
    best_cost = std::min(best_cost, here);
  }
  double a = low + std::max(best - 1, 0) * step, b = low + std::min(best + 1, kGrid) * step;
  const double golden = (std::sqrt(5.0) - 1) / 2;
  for (int i = 0; i < 60; ++i) {
    const double x = b - golden * (b - a), y = a + golden * (b - a);
    if (at(x) <= at(y))
      b = y;
    else
      a = x;
  }
  return Seconds{std::exp((a + b) / 2)};
}

}  // namespace cox::forecast
