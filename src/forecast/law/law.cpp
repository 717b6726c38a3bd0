// SPDX-License-Identifier: Apache-2.0
#include "forecast/law/law.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "cox/base/assert.hpp"
#include "cox/base/elementary.hpp"

#include "forecast/law/shape.hpp"
#include "forecast/law/special.hpp"

namespace cox::forecast {
namespace {

/// Half the width of the range of normal scores that stands for a law: 4e-11 lies beyond on either side.
constexpr double kScores = 6.5;

}  // namespace

Law::Law() : Law(nullptr, 0, 1) {}
Law::Law(std::shared_ptr<const LawShape> shape, double shift, double scale)
    : shape_(std::move(shape)), shift_(shift), scale_(scale) {}

Law Law::constant(Seconds value) {
  return {nullptr, value.count(), 1};
}
Law Law::normal(Seconds mean, Seconds deviation) {
  COX_ASSERT(deviation.count() >= 0, "a deviation is not negative");
  return deviation.count() == 0 ? constant(mean) : Law(shapes::normal(), mean.count(), deviation.count());
}
Law Law::lognormal(Seconds mean, double cv) {
  COX_ASSERT(mean.count() > 0 && cv >= 0, "a lognormal time is positive");
  if (cv == 0) return constant(mean);
  const double variance = logarithm(1 + cv * cv);
  return {shapes::lognormal(std::sqrt(variance)), 0, mean.count() * cox::exponential(-variance / 2)};
}
Law Law::exponential(Seconds mean) {
  COX_ASSERT(mean.count() >= 0, "a mean of what is not negative");
  return mean.count() == 0 ? Law() : Law(shapes::memoryless(), 0, mean.count());
}
Law Law::pareto(Seconds least, double shape) {
  COX_ASSERT(least.count() > 0 && shape > 0, "a Pareto law begins above zero");
  return {shapes::pareto(shape), 0, least.count()};
}
Law Law::weibull(Seconds mean, double shape) {
  COX_ASSERT(mean.count() > 0 && shape > 0.1, "a Weibull law has a positive mean");
  return {shapes::weibull(shape), 0, mean.count() / gamma_function(1 + 1 / shape)};
}
Law Law::student(Seconds mean, Seconds scale, double freedom) {
  COX_ASSERT(scale.count() > 0 && freedom > 0, "a scale and a freedom are positive");
  return {shapes::student(freedom), mean.count(), scale.count()};
}
Law Law::logistic(Seconds mean, Seconds scale) {
  COX_ASSERT(scale.count() > 0, "a scale is positive");
  return {shapes::logistic(), mean.count(), scale.count()};
}
Law Law::shifted_gamma(Seconds mean, Seconds deviation, double skewness) {
  COX_ASSERT(deviation.count() >= 0 && skewness >= 0 && skewness <= 4, "moments of a shifted gamma law");
  if (deviation.count() == 0) return constant(mean);
  if (skewness < 1e-6) return normal(mean, deviation);
  return {shapes::standard_gamma(skewness), mean.count(), deviation.count()};
}
Law Law::detour(Seconds length, double probability) {
  COX_ASSERT(length.count() >= 0 && probability >= 0 && probability <= 1,
             "a detour has a length and a chance");
  if (length.count() == 0 || probability == 0) return {};
  return probability == 1 ? constant(length) : Law(shapes::detour(probability), 0, length.count());
}
Law Law::quantiles(std::span<const Seconds> values, const Tail& tail) {
  COX_ASSERT(!values.empty() || tail.probability == 1, "a body has values");
  std::vector<double> body;
  body.reserve(values.size());
  for (const Seconds value : values) body.push_back(value.count());
  COX_ASSERT(std::is_sorted(body.begin(), body.end()), "quantiles ascend");
  const bool has_tail = tail.probability > 0 && tail.scale.count() > 0;
  if (!has_tail && body.front() == body.back()) return constant(values.front());
  return {shapes::quantiles(std::move(body), tail), 0, 1};
}
Law Law::modes(const Law& usual, const Law& longer, double share) {
  COX_ASSERT(share > 0 && share < 1, "a share of the times");
  return {shapes::modes(usual, longer, share), 0, 1};
}
Law Law::of(std::shared_ptr<const LawShape> shape) {
  return {std::move(shape), 0, 1};
}

Law Law::plus(Seconds shift) const {
  return {shape_, shift_ + shift.count(), scale_};
}
Law Law::times(double factor) const {
  COX_ASSERT(factor > 0, "a time is not turned around");
  return {shape_, shift_ * factor, scale_ * factor};
}

double Law::below(Seconds x) const {
  if (!shape_) return x.count() >= shift_ ? 1 : 0;
  return shape_->below((x.count() - shift_) / scale_);
}
double Law::above(Seconds x) const {
  if (!shape_) return x.count() >= shift_ ? 0 : 1;
  return shape_->above((x.count() - shift_) / scale_);
}
Seconds Law::quantile(double p) const {
  return Seconds{shape_ ? shift_ + scale_ * shape_->quantile(std::clamp(p, 0.0, 1.0)) : shift_};
}
Seconds Law::upper_quantile(double p) const {
  return Seconds{shape_ ? shift_ + scale_ * shape_->upper_quantile(std::clamp(p, 0.0, 1.0)) : shift_};
}
Seconds Law::mean() const {
  return Seconds{shape_ ? shift_ + scale_ * shape_->mean() : shift_};
}
Seconds Law::deviation() const {
  return Seconds{shape_ ? scale_ * shape_->deviation() : 0};
}
bool Law::is_constant() const {
  return !shape_;
}

bool Law::is_discrete() const {
  return !shape_ || !shape_->atoms().empty();
}

std::vector<Seconds> Law::breaks() const {
  if (!shape_) return {};
  std::vector<Seconds> out;
  for (const double z : shape_->breaks()) out.emplace_back(shift_ + scale_ * z);
  return out;
}

std::vector<Law::Point> Law::rule(int points) const {
  COX_ASSERT(points >= 2, "an integral has points");
  if (!shape_) return {{.value = Seconds{shift_}, .weight = 1}};
  std::vector<Point> found = shape_->atoms();
  if (found.empty()) {
    const double step = 2 * kScores / (points - 1);
    double sum = 0;
    for (int i = 0; i < points; ++i) {
      std::array<double, 1> p = {-std::abs(-kScores + i * step)};
      const double weight = cox::exponential(-p[0] * p[0] / 2);
      normal_probabilities(p);
      const bool upper = 2 * i >= points;
      found.push_back({.value = Seconds{upper ? shape_->upper_quantile(p[0]) : shape_->quantile(p[0])},
                       .weight = weight});
      sum += weight;
    }
    for (Point& point : found) point.weight /= sum;
  }
  for (Point& point : found) point.value = Seconds{shift_ + scale_ * point.value.count()};
  return found;
}

}  // namespace cox::forecast
