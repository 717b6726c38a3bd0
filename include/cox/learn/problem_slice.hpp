// SPDX-License-Identifier: Apache-2.0
/// \file
/// One of the equal parts that tensor parallelism cuts a model into.
#pragma once

#include <cstddef>
#include <cstdint>
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

/// What slices have of one of the problem's tensors.
struct SliceTensor {
  Tensor own;               ///< among a slice's own elements, which follow each other without a gap
  std::int64_t first = 0;   ///< of slice 0's first row, among all elements of the problem
  std::int64_t stride = 0;  ///< from one row to the next there
  std::int64_t step = 0;    ///< from one slice's to the next one's; 0: every slice has it
  /// A row's columns are so many equal stretches, `apart` from each other there.
  std::int64_t stretches = 1;
  std::int64_t apart = 0;
};

/// What slices do together while they work. Held by: src/learn/slice/problem_slice_test.cpp
class SliceUse {
 public:
  SliceUse() = default;
  SliceUse(const SliceUse&) = delete;
  SliceUse& operator=(const SliceUse&) = delete;
  virtual ~SliceUse() = default;
  /// From here on samples go forth, or back.
  virtual void forth() {}
  virtual void back() {}
  /// Adds the same place of all slices up, in an aligned binary tree over their numbers; all get the sum. Errors: the caller's.
  [[nodiscard]] virtual Status sum(std::span<float> values) = 0;
};

/// Layers in pairs, as Megatron-LM cuts them (Shoeybi et al. 2019): columns of the first, then rows of the second; heads of attention are columns. A slice
/// has the gradient of its own elements, and of those that every slice has (biases behind rows, norms, a layer that is left over) all of it, the same bits everywhere.
/// What is not whole is summed: behind rows forth (g), behind columns back (f), but for columns that samples come into.
/// Where the number of parts divides `blocks`, gradient and loss have the bits of Problem::gradient. Else products whose inner dimension of k is cut
/// differ from the unsplit ones by 2 gamma_(k + 2) sum |a_i b_i| at most, gamma_n = n u / (1 - n u), u = 2^-24: both are sums of the same k products, each
/// rounded at most k + 2 times (Higham 2002, section 3.1).
/// Threads: one owner. Held by: src/learn/slice/problem_slice_test.cpp
class ProblemSlice {
 public:
  ProblemSlice() = default;
  ProblemSlice(const ProblemSlice&) = delete;
  ProblemSlice& operator=(const ProblemSlice&) = delete;
  virtual ~ProblemSlice() = default;
  /// One for each of the problem's, in order; the same for every slice.
  [[nodiscard]] virtual std::span<const SliceTensor> tensors() const = 0;
  [[nodiscard]] std::int64_t parameters() const {
    return tensors().back().own.first + tensors().back().own.size();
  }
  /// Floats of a sample that a gradient works in, the caller's `room`; 0: in its own.
  [[nodiscard]] virtual std::int64_t room() const = 0;
  /// Floats of each sum of a gradient over so many samples, in order.
  [[nodiscard]] virtual std::vector<std::int64_t> sums(std::int64_t samples) const = 0;
  /// g = mean gradient over the shard by own elements, at own elements x. Returns the shard's mean loss. Errors: those of `use`. Pre: room() floats
  /// of each sample.
  [[nodiscard]] virtual Result<double> gradient(std::span<const float> x, const Shard& shard,
                                                std::span<float> room, std::span<float> g, SliceUse& use) = 0;
};

/// A slice's elements out of all, and into all.
void take_slice(const ProblemSlice& slice, int number, std::span<const float> all, std::span<float> own);
void put_slice(const ProblemSlice& slice, int number, std::span<const float> own, std::span<float> all);
/// Where an element of a slice lies among all. The order is the same there.
[[nodiscard]] std::int64_t place_of(const ProblemSlice& slice, int number, std::int64_t own);

/// A slice's own elements that lie before that place among all; those of a stretch of all follow each other among its own.
[[nodiscard]] std::int64_t own_before(const ProblemSlice& slice, int number, std::int64_t place);
/// A slice's elements of a stretch of all that begins at `first`, `own` being those alone, into the stretch.
void put_stretch(const ProblemSlice& slice, int number, std::span<const float> own, std::int64_t first,
                 std::span<float> stretch);

/// Errors: learn-001, -003. Pre: `parts` divides most_slices.
[[nodiscard]] Result<std::unique_ptr<ProblemSlice>> make_slice(const ProblemSpec& spec, const SliceOf& of);

}  // namespace cox::learn
