// SPDX-License-Identifier: Apache-2.0
/// \file
/// Least squares: the problem that has a true linear-scaling law.
#pragma once

#include <vector>

#include "cox/base/random.hpp"
#include "cox/learn/problem.hpp"

#include "learn/kernels/sample_normals.hpp"

namespace cox::learn {

/// A sample is (a, a'w + noise e), a and e standard normal by (seed, sample), w likewise once; loss (a'x - label)^2 / 2.
/// Without noise, one step with a fresh batch of B changes E|x - w|^2 by the factor
///   1 - 2 rate + rate^2 (1 + (d + 1) / B),
/// so the best rate is 1 / (1 + (d + 1) / B): the critical batch is d + 1.
/// Begins at 0. Score: |x - w|^2 / 2, the expected loss above its optimum, exactly (double).
/// Cost of a gradient: O(dimension samples), most of it draws. Held by: src/learn/problem/least_squares_test.cpp
class LeastSquares final : public Problem {
 public:
  explicit LeastSquares(const ProblemSpec& spec);

  [[nodiscard]] std::span<const Tensor> tensors() const override { return {&tensor_, 1}; }
  void initial(std::span<float> x) const override;
  double gradient(std::span<const float> x, const Shard& shard, std::span<float> g) override;
  [[nodiscard]] Score score(std::span<const float> x) override;
  [[nodiscard]] Flops flops() const override;
  [[nodiscard]] std::span<const float> truth() const { return truth_; }

 private:
  double noise_;
  Tensor tensor_;
  SampleNormals features_;
  RandomStream errors_;
  std::vector<float> truth_;
  std::vector<double> away_;  ///< room for one call
  std::vector<float> a_;
  std::vector<double> sum_;
};

}  // namespace cox::learn
