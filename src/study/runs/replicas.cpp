// SPDX-License-Identifier: Apache-2.0
#include "cox/study/replicas.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

#include "cox/base/assert.hpp"
#include "cox/base/stats.hpp"

#include "study/runs/collective_run.hpp"

namespace cox::study {
namespace {

/// Largest k such that ranks n/2 -+ k of a sorted sample of n enclose its law's median with 95 % (normal
/// approximation of the binomial), at least 1.
int median_rank_half_width(int n) {
  return std::max(1, static_cast<int>(std::ceil(0.98 * std::sqrt(static_cast<double>(n)))));
}

/// Between which the middle 95 % of the draws lie; nothing where they are too few to say.
void add_draws(Computed& value, std::vector<double> sample) {
  constexpr std::size_t kEnough = 40;  // one draw on each side of the middle 95 %
  if (sample.size() < kEnough) return;
  const Dimension d = value.value.dimension();
  value.draw_low = Quantity(d, quantile(sample, 0.025));
  value.draw_high = Quantity(d, quantile(sample, 0.975));
}

}  // namespace

void add_mean(Computation& out, std::string name, Dimension d, const std::vector<double>& sample) {
  COX_ASSERT(sample.size() >= 2, "an interval needs two values");
  const auto n = static_cast<double>(sample.size());
  const double mean = std::accumulate(sample.begin(), sample.end(), 0.0) / n;
  double squares = 0;
  for (const double v : sample) squares += (v - mean) * (v - mean);
  const int degrees = static_cast<int>(sample.size()) - 1;
  const double half = student_quantile(0.025, degrees) * std::sqrt(squares / degrees / n);
  out.values.push_back({.name = std::move(name),
                        .value = Quantity(d, mean),
                        .engine = kDraws,
                        .half_width_95 = Quantity(d, half),
                        .replicas = static_cast<int>(sample.size())});
  add_draws(out.values.back(), sample);
}

void add_median(Computation& out, std::string name, Dimension d, std::vector<double> sample) {
  COX_ASSERT(sample.size() >= 2, "an interval needs two values");
  std::sort(sample.begin(), sample.end());
  const int n = static_cast<int>(sample.size());
  const int k = median_rank_half_width(n);
  const auto at = [&](int i) { return sample[static_cast<std::size_t>(std::clamp(i, 0, n - 1))]; };
  const double median = (at((n - 1) / 2) + at(n / 2)) / 2;
  const double half = std::max(median - at(n / 2 - k), at(n / 2 + k) - median);
  out.values.push_back({.name = std::move(name),
                        .value = Quantity(d, median),
                        .engine = kDraws,
                        .half_width_95 = Quantity(d, half),
                        .replicas = n});
  add_draws(out.values.back(), std::move(sample));
}

}  // namespace cox::study
