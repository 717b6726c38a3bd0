// SPDX-License-Identifier: Apache-2.0
#include "study/oracle/slowest.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "cox/base/assert.hpp"
#include "cox/base/elementary.hpp"

namespace cox::study {
namespace {

constexpr double kDeviations = 9;  ///< of ln x on both sides: less than 1e-18 is beyond
constexpr int kIntervals = 2000;

double sigma_of(double cv) {
  COX_ASSERT(cv > 0, "times differ");
  return std::sqrt(logarithm(1 + cv * cv));
}

/// F(x) of one worker with mean 1.
double lognormal_below(double sigma, double x) {
  if (x <= 0) return 0;
  std::array<double, 1> z = {(logarithm(x) + sigma * sigma / 2) / sigma};
  normal_probabilities(z);
  return z[0];
}

/// Calls `at(x)` at ends and middles of intervals that are even in ln x.
struct Range {
  double low;
  double step;
  Range(double sigma, double delay)
      : low(-kDeviations * sigma - sigma * sigma / 2),
        step((logarithm(exponential(kDeviations * sigma) + delay) - low) / kIntervals) {}
  [[nodiscard]] double x(int i) const { return exponential(low + i * step); }
};

/// The integral of 1 - P(X <= x) from 0 on.
template <class F>
double mean_of(const Range& range, const F& below) {
  double sum = 0;
  for (int i = 0; i <= kIntervals; ++i) {
    const int weight = i == 0 || i == kIntervals ? 1 : (i % 2 == 1 ? 4 : 2);
    const double x = range.x(i);
    sum += weight * (1 - below(x)) * x;
  }
  return range.x(0) + sum * range.step / 3;
}

double largest_delay(const std::vector<DelayedGroups>& kinds) {
  double most = 0;
  for (const DelayedGroups& k : kinds) most = std::max(most, k.delay);
  return most;
}

}  // namespace

DelayedMaximum::DelayedMaximum(double cv, std::vector<DelayedGroups> kinds)
    : sigma_(sigma_of(cv)), kinds_(std::move(kinds)) {
  COX_ASSERT(!kinds_.empty(), "somebody is the slowest");
  for (const DelayedGroups& k : kinds_) COX_ASSERT(k.delay >= 0 && k.groups >= 0, "delays only delay");
}

double DelayedMaximum::below(std::size_t kind, double x) const {
  const DelayedGroups& k = kinds_[kind];
  const double late = power(lognormal_below(sigma_, x - k.delay), k.workers);
  const double in_time = k.probability < 1 ? power(lognormal_below(sigma_, x), k.workers) : 0;
  return power((1 - k.probability) * in_time + k.probability * late, k.groups);
}

double DelayedMaximum::above(double x) const {
  double all = 1;
  for (std::size_t k = 0; k < kinds_.size(); ++k) all *= below(k, x);
  return 1 - all;
}

double DelayedMaximum::mean() const {
  return mean_of(Range(sigma_, largest_delay(kinds_)), [&](double x) { return 1 - above(x); });
}

double DelayedMaximum::quantile(double p) const {
  const Range range(sigma_, largest_delay(kinds_));
  double low = 0;
  double high = range.x(kIntervals);
  while (high - low > 1e-12 * high) {
    const double middle = (low + high) / 2;
    if (middle <= low || middle >= high) break;
    (1 - above(middle) < p ? low : high) = middle;
  }
  return high;
}

double DelayedMaximum::slowest_is_of(std::size_t kind) const {
  const Range range(sigma_, largest_delay(kinds_));
  double sum = 0;
  double before = 0;
  for (int i = 1; i <= kIntervals; ++i) {
    const double now = below(kind, range.x(i));
    double others = 1;
    const double middle = exponential(range.low + (i - 0.5) * range.step);
    for (std::size_t k = 0; k < kinds_.size(); ++k)
      if (k != kind) others *= below(k, middle);
    sum += others * (now - before);
    before = now;
  }
  return sum;
}

double lognormal_without_slowest(int n, double cv, int dropped) {
  COX_ASSERT(dropped >= 0 && dropped < n, "somebody is waited for");
  const double sigma = sigma_of(cv);
  return mean_of(Range(sigma, 0), [&](double x) {
    const double in_time = lognormal_below(sigma, x);
    double ways = 1;
    double sum = 0;
    for (int j = 0; j <= dropped; ++j) {
      sum += ways * power(1 - in_time, j) * power(in_time, n - j);
      ways = ways * (n - j) / (j + 1);
    }
    return sum;
  });
}

double lognormal_maximum_of_copies(int n, double cv, int copies) {
  const double sigma = sigma_of(cv);
  return mean_of(Range(sigma, 0),
                 [&](double x) { return power(1 - power(1 - lognormal_below(sigma, x), copies), n); });
}

double lognormal_over_normal_beyond(double cv, double deviations) {
  std::array<double, 1> normal = {-deviations};
  normal_probabilities(normal);
  return (1 - lognormal_below(sigma_of(cv), 1 + deviations * cv)) / normal[0];
}

}  // namespace cox::study
