// SPDX-License-Identifier: Apache-2.0
/// \file
/// Optimizers: what one gradient does to the parameters.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cox/learn/optimizer.hpp"
#include "cox/learn/problem.hpp"

namespace cox::learn {

/// Values of state per parameter: 0 (sgd), 1 (momentum, nesterov, lars), 2 (adam, adamw, lamb).
[[nodiscard]] std::size_t moments_of(OptimizerKind kind);

/// An optimizer with its state. Elementwise in a fixed order, so that a step has the same bits however the parameters
/// are split over ranks; norms (clip, lars, lamb) are sums over blocks of fixed length in a fixed tree.
/// With g' = g min(1, clip / |g|), h = g' + decay x, b = momentum, a = factor rate, t the number of the step from 1 on:
///   sgd       x -= a h
///   momentum  v = b v + h; x -= a v
///   nesterov  v = b v + h; x -= a (h + b v)                                    (as torch.optim.SGD)
///   adam      m = b1 m + (1 - b1) h; v = b2 v + (1 - b2) h^2;
///             x -= a m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + epsilon)          (Kingma and Ba 2015)
///   adamw     x *= 1 - a decay; then adam with g' for h                        (Loshchilov and Hutter 2019)
///   lars      v = b v + a q h, q = trust |x| / (|g'| + decay |x|); x -= v      (You et al. 2017)
///   lamb      r = adam's direction of g' + decay x; x -= a q r, q = |x| / |r|  (You et al. 2020)
/// Norms of lars and lamb are per tensor; q = 1 where one of them is 0. Vectors (columns = 1: biases) have q = 1 and no
/// decay there.
/// Cost: O(parameters) per step; one more pass for each norm. Threads: one owner.
/// Held by: src/learn/optimize/optimizer_test.cpp
class Optimizer {
 public:
  Optimizer(const OptimizerSpec& spec, std::span<const Tensor> tensors);
  /// One step: `g` is the mean gradient, `factor` times the spec's rate is the step's (schedules: cox/learn/schedule.hpp; ages).
  void step(std::span<float> x, std::span<const float> g, double factor = 1);
  /// Forgets momentum and moments.
  void reset();
  /// After so many steps, with the state that they left. Pre: as many values as `state` has.
  void go_on(std::int64_t steps, std::span<const float> state);
  /// Momentum and moments, for averaging, saving and hashing.
  [[nodiscard]] std::span<float> state() { return state_; }
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  [[nodiscard]] const OptimizerSpec& spec() const { return spec_; }

 private:
  void step_tensor(const Tensor& tensor, float* x, const float* g, float scale, double rate);

  OptimizerSpec spec_;
  std::vector<Tensor> tensors_;
  std::vector<float> state_;      ///< first moments, then second ones
  std::vector<float> direction_;  ///< lamb: room for one step
  std::int64_t steps_ = 0;
};

}  // namespace cox::learn
