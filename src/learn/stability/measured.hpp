// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a problem itself shows: its curvature, and how noisy its gradients are.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cox/learn/problem.hpp"

namespace cox::learn {

/// Largest curvature in size, by power iteration on differences of gradients of one fixed batch.
struct Curvature {
  double value = 0;     ///< v' H v
  double residual = 0;  ///< |H v - value v|: how far v is from an eigenvector; some eigenvalue is that near
  int iterations = 0;
};
/// Ends when the residual is below 1e-3 of the value, or after `most` iterations. H v from x +- h v, h = |x| + 1 over 256.
/// Cost: two gradients per iteration. Held by: src/learn/stability/measured_test.cpp
[[nodiscard]] Curvature measured_curvature(Problem& problem, std::span<const float> x, const Shard& batch,
                                           int most = 100);

/// Gradient noise from steps with n workers of b samples each: S = b n/(n-1) (mean |g_i|^2 - |g|^2), the trace of one
/// sample's covariance, and G2 = (n |g|^2 - mean |g_i|^2) / (n-1), the true gradient's square. Both unbiased; their ratio
/// of one step is not, so they are averaged apart. Source: McCandlish et al. 2018, appendix A.
/// Held by: src/learn/stability/measured_test.cpp
class NoiseScale {
 public:
  /// `samples`: of each worker, b. Pre: workers >= 2 (asserted): one worker uses the halves of its batch.
  NoiseScale(std::int64_t workers, std::int64_t samples);
  /// One step: |g_i|^2 of each worker's mean gradient, and |g|^2 of their mean.
  void add(std::span<const double> squares, double square_of_mean);
  struct Estimate {
    double noise = 0;     ///< S
    double gradient = 0;  ///< G2
    /// S / G2, the critical batch, and its 95 % interval: jackknife over 20 stretches of steps, Student's t. Nothing where
    /// G2 is not above 0 or there are fewer than 20 steps.
    struct Batch {
      double value = 0;
      double low = 0;
      double high = 0;
    };
    std::optional<Batch> critical_batch;
  };
  [[nodiscard]] Estimate estimate() const;

 private:
  double workers_;
  double samples_;
  std::vector<double> noise_;
  std::vector<double> gradient_;
};

}  // namespace cox::learn
