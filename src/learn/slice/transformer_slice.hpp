// SPDX-License-Identifier: Apache-2.0
/// \file
/// Some heads of a transformer, and their part of what is wide.
#pragma once

#include <vector>

#include "cox/learn/problem_slice.hpp"

#include "learn/problem/transformer.hpp"

namespace cox::learn {

/// Columns of queries, keys and values by heads, the rows that mix them; columns up, rows down. Rows of symbols and places, norms, biases behind rows and
/// what makes logits every slice has. Held by: src/learn/slice/problem_slice_test.cpp
class TransformerSlice final : public ProblemSlice {
 public:
  TransformerSlice(const ProblemSpec& spec, SymbolTexts texts, int parts);
  [[nodiscard]] std::span<const SliceTensor> tensors() const override { return tensors_; }
  [[nodiscard]] std::int64_t room() const override { return 0; }
  [[nodiscard]] std::vector<std::int64_t> sums(std::int64_t samples) const override;
  Result<double> gradient(std::span<const float> x, const Shard& shard, std::span<float> /*room*/,
                          std::span<float> g, SliceUse& use) override {
    return own_.gradient_in_slices(x, shard, g, use);
  }

 private:
  ProblemSpec spec_;
  int parts_;
  Transformer own_;
  std::vector<SliceTensor> tensors_;
};

}  // namespace cox::learn
