// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "cox/base/assert.hpp"
#include "cox/base/elementary.hpp"
#include "cox/learn/optimize.hpp"

#include "learn/optimize/block_norm.hpp"

namespace cox::learn {
namespace {

bool is_weight(const Tensor& tensor) {
  return tensor.columns > 1;
}

/// Factors of one step that are the same for all elements.
struct Factors {
  float gradient = 1;  ///< of clipping
  float rate = 0;
  float decay = 0;
  float b1 = 0;  ///< or momentum
  float b2 = 0;
  float rest1 = 1;      ///< 1 - b1
  float rest2 = 1;      ///< 1 - b2
  float unbiased1 = 1;  ///< 1 / (1 - b1^t)
  float unbiased2 = 1;  ///< 1 / sqrt(1 - b2^t)
  float epsilon = 0;
};

float as_float(double v) {
  return static_cast<float>(v);
}

void sgd(std::size_t n, float* x, const float* g, const Factors& f) {
  for (std::size_t i = 0; i < n; ++i) x[i] -= f.rate * (f.gradient * g[i] + f.decay * x[i]);
}

void momentum(std::size_t n, float* x, const float* g, float* v, const Factors& f) {
  for (std::size_t i = 0; i < n; ++i) {
    v[i] = f.b1 * v[i] + (f.gradient * g[i] + f.decay * x[i]);
    x[i] -= f.rate * v[i];
  }
}

void nesterov(std::size_t n, float* x, const float* g, float* v, const Factors& f) {
  for (std::size_t i = 0; i < n; ++i) {
    const float h = f.gradient * g[i] + f.decay * x[i];
    v[i] = f.b1 * v[i] + h;
    x[i] -= f.rate * (h + f.b1 * v[i]);
  }
}

/// The rate is inside the momentum.
void lars(std::size_t n, float* x, const float* g, float* v, const Factors& f) {
  for (std::size_t i = 0; i < n; ++i) {
    v[i] = f.b1 * v[i] + f.rate * (f.gradient * g[i] + f.decay * x[i]);
    x[i] -= v[i];
  }
}

/// Adam's direction of one element; takes the gradient into the moments.
float direction(float h, float& m, float& v, const Factors& f) {
  m = f.b1 * m + f.rest1 * h;
  v = f.b2 * v + f.rest2 * (h * h);
  return f.unbiased1 * m / (f.unbiased2 * std::sqrt(v) + f.epsilon);
}

void adam(std::size_t n, float* x, const float* g, float* m, float* v, const Factors& f) {
  for (std::size_t i = 0; i < n; ++i)
    x[i] -= f.rate * direction(f.gradient * g[i] + f.decay * x[i], m[i], v[i], f);
}

void adamw(std::size_t n, float* x, const float* g, float* m, float* v, const Factors& f) {
  const float keep = 1 - f.rate * f.decay;
  for (std::size_t i = 0; i < n; ++i)
    x[i] = keep * x[i] - f.rate * direction(f.gradient * g[i], m[i], v[i], f);
}

/// r = direction + decay x.
void lamb_direction(std::size_t n, const float* x, const float* g, float* m, float* v, float* r,
                    const Factors& f) {
  for (std::size_t i = 0; i < n; ++i) r[i] = direction(f.gradient * g[i], m[i], v[i], f) + f.decay * x[i];
}

/// b^t, also for b = 0.
double decayed(double b, std::int64_t t) {
  return b > 0 ? power(b, static_cast<double>(t)) : 0;
}

}  // namespace

std::size_t moments_of(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::Sgd:
      return 0;
    case OptimizerKind::Momentum:
    case OptimizerKind::Nesterov:
    case OptimizerKind::Lars:
      return 1;
    case OptimizerKind::Adam:
    case OptimizerKind::AdamW:
    case OptimizerKind::Lamb:
      break;
  }
  return 2;
}

Optimizer::Optimizer(const OptimizerSpec& spec, std::span<const Tensor> tensors)
    : spec_(spec), tensors_(tensors.begin(), tensors.end()) {
  std::int64_t size = 0;
  std::int64_t largest = 0;
  for (const Tensor& tensor : tensors_) {
    COX_ASSERT(tensor.first == size, "tensors lie in order, without gaps");
    size += tensor.size();
    largest = std::max(largest, tensor.size());
  }
  state_.resize(moments_of(spec.kind) * static_cast<std::size_t>(size));
  if (spec.kind == OptimizerKind::Lamb) direction_.resize(static_cast<std::size_t>(largest));
}

void Optimizer::go_on(std::int64_t steps, std::span<const float> state) {
  COX_ASSERT(state.size() == state_.size(), "the state of such an optimizer");
  std::ranges::copy(state, state_.begin());
  steps_ = steps;
}

void Optimizer::reset() {
  std::ranges::fill(state_, 0.0F);
  steps_ = 0;
}

void Optimizer::step(std::span<float> x, std::span<const float> g, double factor) {
  COX_ASSERT(x.size() == g.size() && state_.size() == moments_of(spec_.kind) * x.size(),
             "sizes are the tensors'");
  ++steps_;
  const double norm = spec_.clip > 0 ? block_norm(g) : 0;
  const float scale = norm > spec_.clip ? as_float(spec_.clip / norm) : 1;
  const double rate = factor * spec_.rate;
  const bool by_tensor = spec_.kind == OptimizerKind::Lars || spec_.kind == OptimizerKind::Lamb;
  if (!by_tensor)
    return step_tensor({.name = {}, .first = 0, .rows = 1, .columns = static_cast<std::int64_t>(x.size())},
                       x.data(), g.data(), scale, rate);
  for (const Tensor& tensor : tensors_)
    step_tensor(tensor, x.data() + tensor.first, g.data() + tensor.first, scale, rate);
}

void Optimizer::step_tensor(const Tensor& tensor, float* x, const float* g, float scale, double rate) {
  const auto n = static_cast<std::size_t>(tensor.size());
  float* m = state_.data() + tensor.first;
  float* v = m + state_.size() / 2;  // of kinds with two moments
  Factors f{.gradient = scale,
            .rate = as_float(rate),
            .decay = as_float(spec_.decay),
            .b1 = as_float(spec_.momentum)};
  if (moments_of(spec_.kind) == 2) {
    f.b1 = as_float(spec_.beta1);
    f.b2 = as_float(spec_.beta2);
    f.rest1 = as_float(1 - spec_.beta1);
    f.rest2 = as_float(1 - spec_.beta2);
    f.unbiased1 = as_float(1 / (1 - decayed(spec_.beta1, steps_)));
    f.unbiased2 = as_float(1 / std::sqrt(1 - decayed(spec_.beta2, steps_)));
    f.epsilon = as_float(spec_.epsilon);
  }
  switch (spec_.kind) {
    case OptimizerKind::Sgd:
      return sgd(n, x, g, f);
    case OptimizerKind::Momentum:
      return momentum(n, x, g, m, f);
    case OptimizerKind::Nesterov:
      return nesterov(n, x, g, m, f);
    case OptimizerKind::Adam:
      return adam(n, x, g, m, v, f);
    case OptimizerKind::AdamW:
      return adamw(n, x, g, m, v, f);
    case OptimizerKind::Lars:
    case OptimizerKind::Lamb:
      break;
  }
  if (!is_weight(tensor)) f.decay = 0;
  const double length = is_weight(tensor) ? block_norm({x, n}) : 0;
  if (spec_.kind == OptimizerKind::Lars) {
    const double slope = length > 0 ? static_cast<double>(scale) * block_norm({g, n}) : 0;
    if (slope > 0) f.rate = as_float(rate * spec_.trust * length / (slope + spec_.decay * length));
    return lars(n, x, g, m, f);
  }
  lamb_direction(n, x, g, m, v, direction_.data(), f);
  const double slope = length > 0 ? block_norm({direction_.data(), n}) : 0;
  const float rate_here = as_float(slope > 0 ? rate * length / slope : rate);
  for (std::size_t i = 0; i < n; ++i) x[i] -= rate_here * direction_[i];
}

}  // namespace cox::learn
