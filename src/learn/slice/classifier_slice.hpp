// SPDX-License-Identifier: Apache-2.0
/// \file
/// A classifier's layers, some of the columns and rows of each.
#pragma once

#include <array>
#include <vector>

#include "cox/learn/problem_slice.hpp"

#include "learn/problem/dense_layer.hpp"
#include "learn/problem/labelled_samples.hpp"
#include "learn/product/product.hpp"

namespace cox::learn {

/// Its room: features and what each layer comes to (the last: slopes by the logits), then slopes by what came into two layers, in turn.
/// Held by: src/learn/slice/problem_slice_test.cpp
class ClassifierSlice final : public ProblemSlice {
 public:
  ClassifierSlice(const ProblemSpec& spec, int parts);
  [[nodiscard]] std::span<const SliceTensor> tensors() const override { return tensors_; }
  [[nodiscard]] std::int64_t room() const override { return static_cast<std::int64_t>(before_[1] + widest_); }
  [[nodiscard]] std::vector<std::int64_t> sums(std::int64_t samples) const override;
  Result<double> gradient(std::span<const float> x, const Shard& shard, std::span<float> room,
                          std::span<float> g, SliceUse& use) override;

 private:
  struct Layer {
    DenseLayer dense;  ///< of own elements
    Split split = Split::Whole;
    std::size_t in = 0;  ///< floats of a sample before what comes into it, in the room
  };
  void add_layer(const DenseLayer& whole, Split split, int parts, const ProblemSpec& spec);
  Result<double> forward(std::span<const float> x, const Shard& shard, std::span<float> room, SliceUse& use);
  Status backward(std::span<const float> x, const Shard& shard, std::span<float> room, std::span<float> g,
                  SliceUse& use);

  LabelledSamples samples_;
  bool summed_;  ///< there are several parts
  std::vector<Layer> layers_;
  std::vector<SliceTensor> tensors_;
  std::vector<std::int64_t> sums_;       ///< of a sample: forth, then back
  std::size_t logits_ = 0;               ///< floats of a sample before them
  std::array<std::size_t, 2> before_{};  ///< the same of slopes
  std::size_t widest_ = 0;               ///< of these
  Product product_;
  std::vector<std::size_t> labels_;
  std::vector<double> working_;
};

}  // namespace cox::learn
