// SPDX-License-Identifier: Apache-2.0
/// \file
/// A small real classifier, its data and its gradient: what the example jobs train.
///
/// Data: ten classes of two clusters each in 64 dimensions, so that a linear model does not suffice; the
/// clusters depend on the seed alone and are equal on all ranks, the samples depend on the rank too.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <Eigen/Core>

namespace example {

inline constexpr int kFeatures = 64;
inline constexpr int kHidden = 256;
inline constexpr int kClasses = 10;

/// Consecutive samples, one per column.
struct Batch {
  Eigen::MatrixXf inputs;
  std::vector<int> labels;
};

/// One rank's part of the data set, made from the seed; `next` walks round it for ever.
class Shard {
 public:
  Shard(std::uint64_t seed, int rank, int samples = 4096);
  [[nodiscard]] Batch next(int samples);

 private:
  Eigen::MatrixXf inputs_;
  std::vector<int> labels_;
  int position_ = 0;
};

/// 64 inputs, 256 rectified hidden units, 10 outputs under a softmax. All parameters lie in one vector, so a
/// gradient is one buffer too.
class Mlp {
 public:
  explicit Mlp(std::uint64_t seed);

  [[nodiscard]] static constexpr int parameters() {
    return kFeatures * kHidden + kHidden + kHidden * kClasses + kClasses;
  }

  /// Mean cross-entropy of the batch; its derivative by every parameter is written to `gradient`.
  /// Requires gradient.size() >= parameters().
  float gradient_of(const Batch& batch, std::span<float> gradient) const;

  /// One step downhill.
  void descend(std::span<const float> gradient, float learning_rate);

 private:
  Eigen::VectorXf weights_;
};

}  // namespace example
