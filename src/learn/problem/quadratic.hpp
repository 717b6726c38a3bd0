// SPDX-License-Identifier: Apache-2.0
/// \file
/// Quadratics with a chosen spectrum, whose answers have closed forms.
#pragma once

#include <vector>

#include "cox/learn/problem.hpp"

#include "learn/kernels/sample_normals.hpp"
#include "learn/kernels/step_kernels.hpp"

namespace cox::learn {

/// In the eigenbasis y = Q'x, worker w minimises F_w = sum_k s_w c_k (y_k - b_wk)^2 / 2, and a sample's gradient is
/// Q s_w c (y - b_w) + noise z, z standard normal by (seed, sample, coordinate), so a shard of n samples has noise
/// sqrt(1/n) of one.
///   c_k = curvature condition^(-k / (dimension - 1)).
///   s_w = 1 + hessian_spread u_w, u even from -1 to 1 over the workers.
///   b_wk: normal draws, per coordinate moved to sum 0 over the workers and scaled to root mean square `spread`.
///   Q: a product of `reflections` Householder reflections with drawn directions; O(dimension) each.
/// The mean problem's optimum: y_k = sum_w s_w b_wk / sum_w s_w. Begins at y = (1, ..., 1).
/// Score: the mean problem's loss above its optimum, exactly (double).
/// Cost of a gradient: O(dimension (samples + reflections)). Held by: src/learn/problem/quadratic_test.cpp
class Quadratic final : public Problem {
 public:
  explicit Quadratic(const ProblemSpec& spec);

  [[nodiscard]] std::span<const Tensor> tensors() const override { return {&tensor_, 1}; }
  void initial(std::span<float> x) const override;
  double gradient(std::span<const float> x, const Shard& shard, std::span<float> g) override;
  [[nodiscard]] Score score(std::span<const float> x) override;
  [[nodiscard]] Flops flops() const override;

  /// Of the mean problem.
  [[nodiscard]] std::vector<double> optimum() const;
  /// c, the curvatures of the mean problem.
  [[nodiscard]] std::span<const float> curvatures() const { return curvatures_; }
  /// s of one worker.
  [[nodiscard]] float scale(int worker) const {
    return scales_.empty() ? 1 : scales_[static_cast<std::size_t>(worker)];
  }
  /// b of one worker, in the eigenbasis; empty where all are 0.
  [[nodiscard]] std::span<const float> offset(int worker) const;

 private:
  void draw_offsets();
  void draw_reflections();
  /// v = Q v, or Q'v.
  void turn(std::span<double> v, bool transposed) const;
  /// Adds the mean draw of the shard's samples, scaled.
  void add_noise(const Shard& shard, std::span<float> g);
  double gradient_by_eigenvalues(const float* y, const Shard& shard, float* g);

  ProblemSpec spec_;
  std::size_t size_;
  Tensor tensor_;
  SampleNormals draws_;
  const StepKernels& kernels_ = step_kernels();
  std::vector<float> curvatures_;
  std::vector<float> scales_;         ///< empty: all 1
  std::vector<float> offsets_;        ///< worker by worker; empty: all 0
  std::vector<float> none_;           ///< zeros, for workers without offset
  std::vector<double> mean_optimum_;  ///< in the eigenbasis
  std::vector<double> reflections_;   ///< unit vectors, one by one
  std::vector<float> noise_;          ///< room for one call, in whole blocks of draws
  std::vector<double> turned_;
  std::vector<float> inside_;
};

}  // namespace cox::learn
