// SPDX-License-Identifier: Apache-2.0
/// \file
/// Some layers of a classifier.
#pragma once

#include <vector>

#include "cox/learn/problem_stage.hpp"

#include "learn/problem/dense_layer.hpp"
#include "learn/problem/labelled_samples.hpp"
#include "learn/product/product.hpp"

namespace cox::learn {

/// Of a sample it keeps its features (the first), what each layer but its last gives to the next one, and the slopes by the
/// logits (the last stage). Between the way back and the gradient lie the slopes by what those layers give.
/// Held by: src/learn/problem/problem_stage_test.cpp
class ClassifierStage final : public ProblemStage {
 public:
  ClassifierStage(const ProblemSpec& spec, UnitStretch units);
  [[nodiscard]] const Sizes& sizes() const override { return sizes_; }
  double forward(std::span<const float> x, const Shard& shard, std::span<const float> taken,
                 std::span<float> kept, std::span<float> given) override;
  void backward(std::span<const float> x, const Shard& shard, std::span<const float> taken,
                std::span<const float> kept, std::span<const float> of_given, std::span<float> between,
                std::span<float> of_taken) override;
  void gradient(const Shard& shard, std::span<const float> taken, std::span<const float> kept,
                std::span<const float> of_given, std::span<const float> between, std::span<float> g) override;

 private:
  /// Values that go into own layer `l`, from 0 on.
  [[nodiscard]] const float* into(std::size_t l, std::size_t count, std::span<const float> taken,
                                  std::span<const float> kept) const;
  /// Slopes by what it gives, before max.
  [[nodiscard]] const float* slopes_of(std::size_t l, std::size_t count, std::span<const float> kept,
                                       std::span<const float> of_given, std::span<const float> between) const;

  LabelledSamples samples_;
  std::vector<DenseLayer> layers_;
  bool first_ = false, last_ = false;
  Sizes sizes_;
  std::vector<std::size_t>
      places_;  ///< floats of a sample before what goes into a layer, in `kept`; `between` is the same behind the first
  Product product_;
  std::vector<std::size_t> labels_;
  std::vector<float> features_;
  std::vector<double> room_;
};

}  // namespace cox::learn
