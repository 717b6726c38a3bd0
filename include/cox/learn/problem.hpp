// SPDX-License-Identifier: Apache-2.0
/// \file
/// What is learned: parameters, the gradient of a shard of samples, and a score. Real arithmetic, nothing drawn from a
/// formula of convergence.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"

namespace cox::learn {

/// Consecutive samples that one gradient is the mean over. Samples are numbered through the whole job, so that the
/// same number is the same sample on any worker, in any order and for any number of workers.
struct Shard {
  std::int64_t first = 0;
  std::int64_t count = 1;
  int worker = 0;  ///< whose data: only problems with unlike workers look at it
};

/// Consecutive parameters that belong together: a weight matrix, a bias.
struct Tensor {
  std::string name;
  std::int64_t first = 0;
  std::int64_t rows = 1;
  std::int64_t columns = 1;  ///< 1 = a vector: biases and norms
  [[nodiscard]] std::int64_t size() const { return rows * columns; }
};

/// How good parameters are.
struct Score {
  double loss = 0;      ///< quadratics: above the optimum; else mean over held-out samples
  double accuracy = 0;  ///< part of held-out samples that are right; 0 where the problem has no classes
};

/// One problem with its data. The same bits on every processor that runs the same program: sums have a fixed order,
/// elementary functions are those of cox/base.
/// Threads: one owner per object (it has working room); objects of the same spec and seed are alike.
class Problem {
 public:
  virtual ~Problem() = default;
  [[nodiscard]] virtual std::span<const Tensor> tensors() const = 0;  ///< in order, without gaps
  [[nodiscard]] std::int64_t parameters() const {
    return tensors().empty() ? 0 : tensors().back().first + tensors().back().size();
  }
  /// Where training begins.
  virtual void initial(std::span<float> x) const = 0;
  /// g = mean gradient over the shard at x. Returns the shard's mean loss.
  virtual double gradient(std::span<const float> x, const Shard& shard, std::span<float> g) = 0;
  [[nodiscard]] virtual Score score(std::span<const float> x) = 0;
  /// Of one sample, forward and backward.
  [[nodiscard]] virtual Flops flops() const = 0;
};

}  // namespace cox::learn
