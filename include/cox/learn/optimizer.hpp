// SPDX-License-Identifier: Apache-2.0
/// \file
/// Optimizers: what one gradient does to the parameters.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cox/learn/problem.hpp"

namespace cox::learn {

enum class OptimizerKind : std::uint8_t { Sgd, Momentum, Nesterov, Adam, AdamW, Lars, Lamb };
[[nodiscard]] std::string_view name_of(OptimizerKind kind);  ///< `sgd`, `momentum`, ...

struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::Sgd;
  double rate = 0.1;
  double momentum = 0.9;  ///< momentum, nesterov, lars
  double beta1 = 0.9;     ///< adam, adamw, lamb
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double decay = 0;      ///< of weights: coupled (sgd, momentum, nesterov, adam, lars), decoupled (adamw, lamb)
  double trust = 0.001;  ///< lars
  double clip = 0;       ///< largest norm of a gradient; 0 = none
};

/// An optimizer with its state. Elementwise in a fixed order, so that a step has the same bits however the parameters
/// are split over ranks; norms (clip, lars, lamb) are sums over blocks of fixed length in a fixed tree.
class Optimizer {
 public:
  Optimizer(const OptimizerSpec& spec, std::span<const Tensor> tensors);
  /// One step: `g` is the mean gradient, `factor` times the spec's rate is the step's (schedules, ages).
  void step(std::span<float> x, std::span<const float> g, double factor = 1);
  /// Forgets momentum and moments.
  void reset();
  /// Momentum and moments, for averaging, saving and hashing.
  [[nodiscard]] std::span<float> state() { return state_; }
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  [[nodiscard]] const OptimizerSpec& spec() const { return spec_; }

 private:
  OptimizerSpec spec_;
  std::vector<Tensor> tensors_;
  std::vector<float> state_;
  std::int64_t steps_ = 0;
};

}  // namespace cox::learn
