// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include "cox/base/assert.hpp"
#include "cox/base/elementary.hpp"
#include "cox/learn/block_norm.hpp"
#include "cox/learn/optimize.hpp"

#include "learn/kernels/step_kernels.hpp"

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
  step_kernels().descend(n, f.rate, f.gradient, f.decay, g, x);
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

Factors factors_of(const OptimizerSpec& spec, std::int64_t steps, float scale, double rate) {
  Factors f{.gradient = scale,
            .rate = as_float(rate),
            .decay = as_float(spec.decay),
            .b1 = as_float(spec.momentum)};
  if (moments_of(spec.kind) < 2) return f;
  f.b1 = as_float(spec.beta1);
  f.b2 = as_float(spec.beta2);
  f.rest1 = as_float(1 - spec.beta1);
  f.rest2 = as_float(1 - spec.beta2);
  f.unbiased1 = as_float(1 / (1 - decayed(spec.beta1, steps)));
  f.unbiased2 = as_float(1 / std::sqrt(1 - decayed(spec.beta2, steps)));
  f.epsilon = as_float(spec.epsilon);
  return f;
}

/// Of the kinds that take one element like another. m: its first moment, v: its second.
void step_elements(OptimizerKind kind, std::size_t n, float* x, const float* g, float* m, float* v,
                   const Factors& f) {
  switch (kind) {
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
}

bool by_tensor(OptimizerKind kind) {
  return kind == OptimizerKind::Lars || kind == OptimizerKind::Lamb;
}

/// Of clipping.
float scale_of(const OptimizerSpec& spec, double norm) {
  return norm > spec.clip ? as_float(spec.clip / norm) : 1;
}

/// lars: of a weight's step.
float lars_rate(const OptimizerSpec& spec, double rate, float scale, double length, double norm) {
  const double slope = length > 0 ? static_cast<double>(scale) * norm : 0;
  return as_float(slope > 0 ? rate * spec.trust * length / (slope + spec.decay * length) : rate);
}

/// lamb: of a weight's step along its direction.
float lamb_rate(double rate, double length, double norm) {
  const double slope = length > 0 ? norm : 0;
  return as_float(slope > 0 ? rate * length / slope : rate);
}

void subtract(std::size_t n, float* x, const float* direction, float rate) {
  for (std::size_t i = 0; i < n; ++i) x[i] -= rate * direction[i];
}

}  // namespace

bool takes_norms(const OptimizerSpec& spec) {
  return spec.clip > 0 || by_tensor(spec.kind);
}

std::size_t direction_floats(OptimizerKind kind, std::size_t elements) {
  return kind == OptimizerKind::Lamb ? elements : 0;
}

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
  const float scale = spec_.clip > 0 ? scale_of(spec_, block_norm(g)) : 1;
  const double rate = factor * spec_.rate;
  if (!by_tensor(spec_.kind))
    return step_elements(spec_.kind, x.size(), x.data(), g.data(), state_.data(),
                         state_.data() + state_.size() / 2, factors_of(spec_, steps_, scale, rate));
  for (const Tensor& tensor : tensors_)
    step_tensor(tensor, x.data() + tensor.first, g.data() + tensor.first, scale, rate);
}

void Optimizer::step_tensor(const Tensor& tensor, float* x, const float* g, float scale, double rate) {
  const auto n = static_cast<std::size_t>(tensor.size());
  float* m = state_.data() + tensor.first;
  float* v = m + state_.size() / 2;  // of kinds with two moments
  Factors f = factors_of(spec_, steps_, scale, rate);
  if (!is_weight(tensor)) f.decay = 0;
  const double length = is_weight(tensor) ? block_norm({x, n}) : 0;
  if (spec_.kind == OptimizerKind::Lars) {
    f.rate = lars_rate(spec_, rate, scale, length, length > 0 ? block_norm({g, n}) : 0);
    return lars(n, x, g, m, f);
  }
  lamb_direction(n, x, g, m, v, direction_.data(), f);
  subtract(n, x, direction_.data(),
           lamb_rate(rate, length, length > 0 ? block_norm({direction_.data(), n}) : 0));
}

PartedOptimizer::PartedOptimizer(const OptimizerSpec& spec, std::size_t elements)
    : spec_(spec),
      state_(moments_of(spec.kind) * elements),
      direction_(direction_floats(spec.kind, elements)) {}

void PartedOptimizer::go_on(std::int64_t steps, std::span<const float> state) {
  COX_ASSERT(state.size() == state_.size(), "the state of such an optimizer");
  std::ranges::copy(state, state_.begin());
  steps_ = steps;
}

Status PartedOptimizer::step(std::span<const OptimizerPiece> pieces, double factor, PieceNorms& norms) {
  ++steps_;
  float scale = 1;
  if (spec_.clip > 0) {
    std::vector<const float*> slopes;
    for (const OptimizerPiece& p : pieces) slopes.push_back(p.g);
    COX_TRY(const double norm, norms.of_all(slopes));
    scale = scale_of(spec_, norm);
  }
  const double rate = factor * spec_.rate;
  if (spec_.kind == OptimizerKind::Lars) return step_lars(pieces, scale, rate, norms);
  if (spec_.kind == OptimizerKind::Lamb) return step_lamb(pieces, scale, rate, norms);
  const Factors f = factors_of(spec_, steps_, scale, rate);
  float* m = state_.data();
  for (const OptimizerPiece& p : pieces) {
    step_elements(spec_.kind, p.count, p.x, p.g, m, m + state_.size() / 2, f);
    m += p.count;
  }
  return {};
}

void PartedOptimizer::step(std::span<const OptimizerPiece> pieces, double factor,
                           const GradientReader& read) {
  COX_ASSERT(!takes_norms(spec_), "no norm is taken of gradients that are read by blocks");
  ++steps_;
  const Factors f = factors_of(spec_, steps_, 1, factor * spec_.rate);
  std::array<float, 4096> block{};
  std::size_t at = 0;
  for (const OptimizerPiece& p : pieces)
    for (std::size_t i = 0; i < p.count; i += block.size()) {
      const std::size_t n = std::min(block.size(), p.count - i);
      read(at, std::span(block).first(n));
      float* m = state_.data() + at;
      step_elements(spec_.kind, n, p.x + i, block.data(), m, m + state_.size() / 2, f);
      at += n;
    }
}

Status PartedOptimizer::step_lars(std::span<const OptimizerPiece> pieces, float scale, double rate,
                                  PieceNorms& norms) {
  std::vector<const float*> places, slopes;
  for (const OptimizerPiece& p : pieces) places.push_back(p.x);
  for (const OptimizerPiece& p : pieces) slopes.push_back(p.g);
  COX_TRY(const std::vector<double> lengths, norms.of_tensors(places));
  COX_TRY(const std::vector<double> of_slopes, norms.of_tensors(slopes));
  float* v = state_.data();
  for (const OptimizerPiece& p : pieces) {
    Factors f = factors_of(spec_, steps_, scale, rate);
    if (!p.weight) f.decay = 0;
    f.rate = lars_rate(spec_, rate, scale, p.weight ? lengths[p.tensor] : 0, of_slopes[p.tensor]);
    lars(p.count, p.x, p.g, v, f);
    v += p.count;
  }
  return {};
}

Status PartedOptimizer::step_lamb(std::span<const OptimizerPiece> pieces, float scale, double rate,
                                  PieceNorms& norms) {
  std::vector<const float*> places, directions;
  for (const OptimizerPiece& p : pieces) places.push_back(p.x);
  COX_TRY(const std::vector<double> lengths, norms.of_tensors(places));
  const Factors all = factors_of(spec_, steps_, scale, rate);
  std::size_t at = 0;
  for (const OptimizerPiece& p : pieces) {
    Factors f = all;
    if (!p.weight) f.decay = 0;
    float* m = state_.data() + at;
    directions.push_back(direction_.data() + at);
    lamb_direction(p.count, p.x, p.g, m, m + state_.size() / 2, direction_.data() + at, f);
    at += p.count;
  }
  COX_TRY(const std::vector<double> slopes, norms.of_tensors(directions));
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const OptimizerPiece& p = pieces[i];
    subtract(p.count, p.x, directions[i],
             lamb_rate(rate, p.weight ? lengths[p.tensor] : 0, slopes[p.tensor]));
  }
  return {};
}

}  // namespace cox::learn
