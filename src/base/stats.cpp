// SPDX-License-Identifier: Apache-2.0
#include "cox/base/stats.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "cox/base/assert.hpp"

namespace cox {

double quantile_in_place(std::span<double> sample, double q) {
  if (sample.empty()) return 0;
  const double position = (q > 0 ? std::min(q, 1.0) : 0.0) * static_cast<double>(sample.size() - 1);
  const auto low = static_cast<std::size_t>(position);
  const double part = position - static_cast<double>(low);
  const auto nth = sample.begin() + static_cast<std::ptrdiff_t>(low);
  std::nth_element(sample.begin(), nth, sample.end());
  if (part == 0 || low + 1 >= sample.size()) return *nth;
  return *nth + part * (*std::min_element(nth + 1, sample.end()) - *nth);
}

double median_in_place(std::span<double> sample) {
  return quantile_in_place(sample, 0.5);
}

double quantile(std::span<const double> sample, double q) {
  std::vector<double> copy(sample.begin(), sample.end());
  return quantile_in_place(copy, q);
}

double median(std::span<const double> sample) {
  return quantile(sample, 0.5);
}

double scaled_mad(std::span<const double> sample) {
  const double center = median(sample);
  std::vector<double> distance(sample.size());
  std::transform(sample.begin(), sample.end(), distance.begin(),
                 [&](double x) { return std::abs(x - center); });
  return 1.4826 * median_in_place(distance);
}

void Welford::merge(const Welford& other) {
  if (other.count_ == 0) return;
  const auto n = static_cast<double>(count_ + other.count_);
  const double delta = other.mean_ - mean_;
  m2_ += other.m2_ + delta * delta * static_cast<double>(count_) * static_cast<double>(other.count_) / n;
  mean_ += delta * static_cast<double>(other.count_) / n;
  count_ += other.count_;
}

double Welford::variance() const {
  return count_ < 2 ? 0 : m2_ / static_cast<double>(count_ - 1);
}
double Welford::stddev() const {
  return std::sqrt(variance());
}
double Welford::cv() const {
  return mean_ == 0 ? 0 : stddev() / mean_;
}

// Ours, not Boost.Math's: results carry all digits of these, and no library's version may change them.
double binomial_upper_tail(std::int64_t successes, std::int64_t trials, double p) {
  if (successes <= 0) return 1;
  if (successes > trials || p <= 0) return 0;
  if (p >= 1) return 1;
  const auto n = static_cast<double>(trials);
  double sum = 0;
  for (std::int64_t k = trials; k >= successes; --k) {
    const auto x = static_cast<double>(k);
    sum += std::exp(std::lgamma(n + 1) - std::lgamma(x + 1) - std::lgamma(n - x + 1) + x * std::log(p) +
                    (n - x) * std::log1p(-p));
  }
  return std::min(1.0, sum);
}

double student_upper_tail(double t, std::int64_t freedom) {
  COX_ASSERT(freedom >= 1, "no degrees of freedom");
  if (t < 0) return 1 - student_upper_tail(-t, freedom);
  if (std::isinf(t)) return 0;
  const double angle = std::atan(t / std::sqrt(static_cast<double>(freedom)));
  const double cosine = std::cos(angle);
  // Sum of c_k cos^k over k = 0, 2, ... or 1, 3, ... up to freedom - 2, with c_k = c_(k-2) (k - 1) / k.
  const std::int64_t first = freedom % 2;
  double term = first == 0 ? 1 : cosine;
  double sum = freedom >= 2 + first ? term : 0;
  for (std::int64_t k = first + 2; k <= freedom - 2; k += 2) {
    term *= cosine * cosine * static_cast<double>(k - 1) / static_cast<double>(k);
    sum += term;
  }
  const double inside =
      first == 0 ? std::sin(angle) * sum : (angle + std::sin(angle) * sum) / (std::numbers::pi / 2);
  return std::max(0.0, (1 - inside) / 2);  // far out, rounding leaves less than nothing
}

double student_quantile(double tail, std::int64_t freedom) {
  COX_ASSERT(tail > 0 && tail < 1, "no tail");
  if (tail > 0.5) return -student_quantile(1 - tail, freedom);
  double low = 0;
  double high = 1;
  while (student_upper_tail(high, freedom) > tail) high *= 2;
  constexpr int kHalvings = 60;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (student_upper_tail(middle, freedom) > tail ? low : high) = middle;
  }
  return high;
}

double student_half_width(const Welford& values, double tail) {
  if (values.count() < 2) return std::numeric_limits<double>::infinity();
  return student_quantile(tail, values.count() - 1) * values.stddev() /
         std::sqrt(static_cast<double>(values.count()));
}

}  // namespace cox
