// SPDX-License-Identifier: Apache-2.0
/// \file
/// Optimizers: what one gradient does to the parameters.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "cox/base/result.hpp"
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

/// Consecutive elements of one tensor, of which others keep the rest.
struct OptimizerPiece {
  bool weight = true;  ///< of a tensor that is no vector
  std::size_t tensor = 0;
  std::size_t count = 0;
  float* x = nullptr;
  const float* g = nullptr;
};

/// Norms of vectors that lie in pieces with several ranks. All of them ask for the same, in the same order.
class PieceNorms {
 public:
  PieceNorms() = default;
  PieceNorms(const PieceNorms&) = delete;
  PieceNorms& operator=(const PieceNorms&) = delete;
  virtual ~PieceNorms() = default;
  /// `block_norm` of all elements; `values`: where each of the own pieces begins.
  [[nodiscard]] virtual Result<double> of_all(std::span<const float* const> values) = 0;
  /// The same of each tensor, by its number; those of vectors are not looked at.
  [[nodiscard]] virtual Result<std::vector<double>> of_tensors(std::span<const float* const> values) = 0;
};

/// Fills `out` with the mean gradient of elements from `at` on, counted through all pieces.
using GradientReader = std::function<void(std::size_t at, std::span<float> out)>;
/// Whether a step needs norms (clip, lars, lamb), and so all gradients at once.
[[nodiscard]] bool takes_norms(const OptimizerSpec& spec);

/// The part of an Optimizer that one rank keeps: together they have its bits. Norms are asked for where it takes some: one for clip,
/// two of all tensors for lars and lamb.
/// Threads: one owner. Held by: src/learn/optimize/parted_optimizer_test.cpp
class PartedOptimizer {
 public:
  PartedOptimizer(const OptimizerSpec& spec, std::size_t elements);
  /// Of all pieces, in the order of their state. Errors: those of the norms. Pre: their elements are as many as it has.
  [[nodiscard]] Status step(std::span<const OptimizerPiece> pieces, double factor, PieceNorms& norms);
  /// The same with gradients that lie in another form: they are read a block at a time, and `g` of pieces is not looked at.
  /// Pre: takes no norms (asserted).
  void step(std::span<const OptimizerPiece> pieces, double factor, const GradientReader& read);
  /// As Optimizer has them.
  void go_on(std::int64_t steps, std::span<const float> state);
  [[nodiscard]] std::span<const float> state() const { return state_; }
  [[nodiscard]] std::int64_t steps() const { return steps_; }

 private:
  [[nodiscard]] Status step_lars(std::span<const OptimizerPiece> pieces, float scale, double rate,
                                 PieceNorms& norms);
  [[nodiscard]] Status step_lamb(std::span<const OptimizerPiece> pieces, float scale, double rate,
                                 PieceNorms& norms);

  OptimizerSpec spec_;
  std::vector<float> state_;      ///< first moments, then second ones
  std::vector<float> direction_;  ///< lamb: of all pieces
  std::int64_t steps_ = 0;
};

/// Floats that an optimizer of so many elements keeps beside its moments: lamb's direction, whole that of the largest tensor.
[[nodiscard]] std::size_t direction_floats(OptimizerKind kind, std::size_t elements);

}  // namespace cox::learn
