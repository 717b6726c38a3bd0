// SPDX-License-Identifier: Apache-2.0
/// \file
/// Logistic regression, and networks of dense layers with max(0, x) between them.
#pragma once

#include <vector>

#include "cox/learn/problem.hpp"

#include "learn/problem/dense_layer.hpp"
#include "learn/problem/labelled_samples.hpp"
#include "learn/problem/softmax.hpp"
#include "learn/product/product.hpp"

namespace cox::learn {

/// Layer l: h_l = max(0, h_(l-1) W_l + b_l), the last without max; loss: cross-entropy of its softmax.
/// logistic: one layer, begun at 0; convex. mlp: weights begin normal with variance 2 / inputs (He et al. 2015), biases
/// at 0. The gradient at a kink is 0.
/// Layers pair up from the first on, as tensor parallelism cuts them: columns of one, rows of the next. With `blocks` the product forth of the second and
/// that back of the first are in blocks (Product::in_blocks).
/// A shard is computed in parts of fixed size, and each element of the gradient is one chain over its samples in order,
/// scaled once: no part size, thread or instruction set changes a bit.
/// Cost per sample: 6 operations per weight, and `dimension` draws. Held by: src/learn/problem/classifier_test.cpp
class Classifier final : public Problem {
 public:
  explicit Classifier(const ProblemSpec& spec);

  [[nodiscard]] std::span<const Tensor> tensors() const override { return tensors_; }
  void initial(std::span<float> x) const override;
  double gradient(std::span<const float> x, const Shard& shard, std::span<float> g) override;
  /// A layer is a unit.
  [[nodiscard]] std::vector<ParameterUnit> units() const override;
  double gradient_by_units(std::span<const float> x, const Shard& shard, std::span<float> g,
                           UnitUse& use) override;
  [[nodiscard]] std::int64_t passes(std::int64_t samples) const override;
  [[nodiscard]] Score score(std::span<const float> x) override;
  [[nodiscard]] Flops flops() const override;
  [[nodiscard]] const std::vector<DenseLayer>& layers() const { return layers_; }

 private:
  /// Samples that go through the layers together.
  struct Part {
    std::size_t count = 0;
    std::vector<std::size_t> labels;
    std::vector<std::vector<float>> values;  ///< features, then each layer's output; count x width
  };
  void draw(std::int64_t first, std::size_t count, bool held_out);
  void forward(std::span<const float> x, UnitUse& use);
  /// Turns the part's logits into gradients.
  void losses(ClassSums& sums);
  void backward(std::span<const float> x, std::span<float> g, UnitUse& use);
  /// A layer's elements.
  [[nodiscard]] std::span<float> of_layer(std::span<float> g, std::size_t layer) const;

  ProblemSpec spec_;
  LabelledSamples samples_;
  std::vector<std::size_t> widths_;  ///< features, hidden ..., classes
  std::vector<DenseLayer> layers_;
  std::vector<Tensor> tensors_;  ///< W_1, b_1, W_2, ...
  Product product_;
  Part part_;
  bool first_pass_ = true, last_pass_ = true;
  float scale_ = 1;            ///< of the shard's sum
  std::vector<float> slope_;   ///< of the loss by a layer's output
  std::vector<float> before_;  ///< the same one layer earlier
  std::vector<double> room_;
};

}  // namespace cox::learn
