// SPDX-License-Identifier: Apache-2.0
/// \file
/// One of the equal parts that tensor parallelism cuts a model into.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/learn/problem.hpp"

namespace cox::learn {

/// Which part, of how many.
struct SliceOf {
  int number = 0;
  int parts = 1;
};

/// What a slice has of one of the problem's tensors.
struct SliceTensor {
  Tensor own;               ///< among the slice's own elements, which follow each other without a gap
  std::int64_t first = 0;   ///< of its first row, among all elements of the problem
  std::int64_t stride = 0;  ///< from one row to the next there
};

/// Adds the same place of all slices up, in an aligned binary tree over their numbers; all get the sum. Errors: the caller's.
using SliceSum = std::function<Status(std::span<float>)>;

/// Layers in pairs, as Megatron-LM cuts them (Shoeybi et al. 2019): columns of the first, then rows of the second. A slice has the gradient of its own
/// elements, and of those that every slice has (biases behind rows, a layer that is left over) all of it, the same bits everywhere.
/// What is not whole is summed: behind rows forth (g), behind columns back (f); nothing goes back beyond the first layer.
/// Where the number of parts divides `blocks`, gradient and loss have the bits of Problem::gradient. Else products whose inner dimension of k is cut
/// differ from the unsplit ones by 2 gamma_(k + 2) sum |a_i b_i| at most, gamma_n = n u / (1 - n u), u = 2^-24: both are sums of the same k products, each
/// rounded at most k + 2 times (Higham 2002, section 3.1).
/// Threads: one owner. Held by: src/learn/problem/problem_slice_test.cpp
class ProblemSlice {
 public:
  ProblemSlice() = default;
  ProblemSlice(const ProblemSlice&) = delete;
  ProblemSlice& operator=(const ProblemSlice&) = delete;
  virtual ~ProblemSlice() = default;
  /// One for each of the problem's, in order.
  [[nodiscard]] virtual std::span<const SliceTensor> tensors() const = 0;
  [[nodiscard]] std::int64_t parameters() const {
    return tensors().back().own.first + tensors().back().own.size();
  }
  /// Floats of a sample that a gradient works in, the caller's `room`.
  [[nodiscard]] virtual std::int64_t room() const = 0;
  /// Floats of a sample in each sum of a gradient, in order: those forth, then those back.
  [[nodiscard]] virtual std::span<const std::int64_t> sums() const = 0;
  /// Of the shard, whole; returns its mean loss. `x`: own elements. Errors: those of `sum`. Pre: room() floats of each sample.
  [[nodiscard]] virtual Result<double> forward(std::span<const float> x, const Shard& shard,
                                               std::span<float> room, const SliceSum& sum) = 0;
  /// Behind it: g = mean gradient over the shard by own elements.
  [[nodiscard]] virtual Status backward(std::span<const float> x, const Shard& shard, std::span<float> room,
                                        std::span<float> g, const SliceSum& sum) = 0;
};

/// Own elements out of all, and into all.
void take_slice(const ProblemSlice& slice, std::span<const float> all, std::span<float> own);
void put_slice(const ProblemSlice& slice, std::span<const float> own, std::span<float> all);
/// Where an own element lies among all. The order is the same there.
[[nodiscard]] std::int64_t place_of(const ProblemSlice& slice, std::int64_t own);

/// Null where the problem is not cut within its layers: all but `mlp`. Errors: learn-001. Pre: `parts` divides its hidden width.
[[nodiscard]] Result<std::unique_ptr<ProblemSlice>> make_slice(const ProblemSpec& spec, const SliceOf& of);

}  // namespace cox::learn
