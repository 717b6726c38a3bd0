// SPDX-License-Identifier: Apache-2.0
/// \file
/// A layer of filters over small images, batch normalisation behind it, and whose samples share their statistics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cox/learn/problem.hpp"

#include "learn/problem/softmax.hpp"
#include "learn/product/product.hpp"

namespace cox::learn {

/// An image of side x side pixels is `noise` times a standard normal, plus its class's 3 x 3 pattern (drawn once) at a drawn
/// place. z = filters over all 3 x 3 windows; y = gain (z - m) / sqrt(v + 1e-5) + shift, r = max(0, y), their mean over
/// windows, then a layer to classes; loss: cross-entropy. `norm=none`: y = z + shift.
/// m, v: mean and variance of a filter's z over all windows of a *group*: the shard (`group` 0), or the aligned block of
/// `group` samples that a sample is in. A block that holds a step's shards of all workers is synchronised batch
/// normalisation: the mean of the shards' gradients is the gradient of the block's mean loss, its way through m and v
/// included, which the sums over the block of what both carry back make. A real job learns them in two sums over all workers;
/// here each shard computes them again, or finds those that it computed last.
/// A score takes m and v from kCalibration samples of those trained on, at its parameters: there are no running averages.
/// Sums behind m and v are doubles in the order of samples, gradients one chain over the shard's samples, scaled once: no
/// number of workers changes a bit as long as shard and group are the same.
/// Source: Ioffe and Szegedy 2015; Wu and Johnson 2021 (statistics at the parameters).
/// Cost: three passes over filters forward, one backward; two of them over the group, once for all its shards that follow
/// each other. Memory: kPart samples. Held by: src/learn/problem/convolution_test.cpp (dual numbers)
class Convolution final : public Problem {
 public:
  static constexpr std::int64_t kCalibration = 256;
  explicit Convolution(const ProblemSpec& spec);

  [[nodiscard]] std::span<const Tensor> tensors() const override { return tensors_; }
  void initial(std::span<float> x) const override;
  double gradient(std::span<const float> x, const Shard& shard, std::span<float> g) override;
  [[nodiscard]] Score score(std::span<const float> x) override;
  [[nodiscard]] Flops flops() const override;

  /// Image `number` of those trained on, or of those held out, row by row. Returns its class.
  std::size_t draw(std::int64_t number, bool held_out, std::span<float> pixels) const;

 private:
  /// Consecutive samples.
  struct Block {
    std::int64_t first = 0;
    std::int64_t count = 0;
    bool held_out = false;
    bool operator==(const Block&) const = default;
  };
  /// Of each filter, over a group.
  struct Moments {
    std::vector<double> mean;
    std::vector<double> over_deviation;  ///< 1 / sqrt(v + epsilon)
    std::vector<double> slope;           ///< mean of the loss's slope by the normalised value
    std::vector<double> slope_value;     ///< the same times that value
  };
  /// Samples that go through the layers together.
  struct Part {
    std::size_t count = 0;
    std::vector<std::size_t> labels;
    std::vector<float> windows;  ///< (count x places) x 9
    std::vector<float> z;        ///< (count x places) x filters; normalised by `normalise`
    std::vector<float> pooled;   ///< count x filters
    std::vector<float> logits;   ///< count x classes; behind `losses` their slopes
    std::vector<float> slope;    ///< of the loss by `pooled`
  };

  template <class Use>
  void for_parts(std::span<const float> x, const Block& block, const Use& use);
  void load(std::span<const float> x, const Block& block);
  void normalise();
  void pool(std::span<const float> x);
  /// Turns the part's logits into gradients.
  void losses(ClassSums& sums);
  void slopes(std::span<const float> x);
  void backward(std::span<const float> x, std::span<float> g);
  void measure(std::span<const float> x, const Block& group);
  void measure_slopes(std::span<const float> x, const Block& group);
  void share_moments(std::span<const float> x, const Block& group);
  double add_gradient(std::span<const float> x, const Block& shard, std::span<float> g);
  [[nodiscard]] bool normalises() const { return spec_.norm == 1; }
  [[nodiscard]] std::size_t at(std::size_t tensor) const {
    return static_cast<std::size_t>(tensors_[tensor].first);
  }
  [[nodiscard]] float output(std::span<const float> x, float value, std::size_t filter) const {
    const float shift = x[at(shift_) + filter];
    return normalises() ? x[at(gain_) + filter] * value + shift : value + shift;
  }

  ProblemSpec spec_;
  std::size_t side_, places_, filters_, classes_;
  std::vector<Tensor> tensors_;
  std::size_t gain_ = 0, shift_ = 0, weights_ = 0, bias_ = 0;  ///< which tensors
  std::vector<float> patterns_;                                ///< classes x 9
  Moments moments_;
  Block measured_;                 ///< the group that `moments_` are of
  std::vector<float> measured_x_;  ///< at which parameters
  std::vector<float> pixels_;
  std::vector<double> room_;
  Product product_;
  Part part_;
};

}  // namespace cox::learn
