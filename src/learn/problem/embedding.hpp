// SPDX-License-Identifier: Apache-2.0
/// \file
/// A table of which each sample touches a few rows, some of them nearly always.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cox/learn/problem.hpp"

#include "learn/problem/softmax.hpp"
#include "learn/product/product.hpp"

namespace cox::learn {

/// A sample is `bag` keys, drawn with replacement: key r (0 is the commonest) has a share of (r + 1)^-zipf. Its class is the
/// largest of the sums of what each key says of every class (drawn once, standard normal), plus noise e.
/// h = sum of its keys' rows / sqrt(bag), logits = h W + b; loss: cross-entropy.
/// A gradient is not 0 in rows that the shard touched, and in no other; it is held dense, so that a sum of gradients costs
/// the whole table. An optimizer with momentum moves rows that nobody touched.
/// Bits: each element is one chain over the shard's samples in order, scaled once.
/// Cost per sample: 6 width classes + 4 bag width operations, a search among the keys for each of the bag; per gradient
/// one pass over the table. Held by: src/learn/problem/embedding_test.cpp (dual numbers)
class Embedding final : public Problem {
 public:
  explicit Embedding(const ProblemSpec& spec);

  [[nodiscard]] std::span<const Tensor> tensors() const override { return tensors_; }
  void initial(std::span<float> x) const override;
  double gradient(std::span<const float> x, const Shard& shard, std::span<float> g) override;
  /// A range for each key that is drawn, and one for what stands behind the table.
  void touched(const Shard& shard, std::vector<ParameterUnit>& ranges) const override;
  [[nodiscard]] Score score(std::span<const float> x) override;
  [[nodiscard]] Flops flops() const override;

  /// Keys of sample `number` of those trained on, or of those held out; `keys` has room for a bag.
  void keys_of(std::int64_t number, bool held_out, std::span<std::size_t> keys) const;
  /// Of all draws, the part that is key `key`.
  [[nodiscard]] double share(std::size_t key) const { return up_to_[key] - (key > 0 ? up_to_[key - 1] : 0); }
  /// The class of sample `number`, whose keys are given.
  std::size_t label_of(std::int64_t number, bool held_out, std::span<const std::size_t> keys);

 private:
  /// Samples that go through the layers together.
  struct Part {
    std::size_t count = 0;
    std::vector<std::size_t> keys;    ///< count x bag
    std::vector<std::size_t> labels;  ///< count
    std::vector<float> hidden;        ///< count x width
    std::vector<float> logits;        ///< count x classes; behind `losses` their slopes
  };
  void draw(std::int64_t first, std::size_t count, bool held_out);
  void forward(std::span<const float> x);
  /// Turns the part's logits into gradients.
  void losses(ClassSums& sums);
  void backward(std::span<const float> x, std::span<float> g);

  ProblemSpec spec_;
  std::size_t bag_, width_, classes_;
  std::vector<Tensor> tensors_;  ///< rows, weights, bias
  std::vector<double> up_to_;    ///< part of the draws that are this key or a commoner one
  std::vector<float> truth_;     ///< keys x classes
  std::vector<float> noise_;
  std::vector<double> seen_;
  std::vector<double> room_;
  std::vector<float> slope_;  ///< of the loss by `hidden`
  Product product_;
  Part part_;
};

}  // namespace cox::learn
