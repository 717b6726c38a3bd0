// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sums of vectors whose bits do not depend on who holds which part.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cox/learn/number_format.hpp"

namespace cox::learn {

/// Leaf by leaf into an aligned binary tree: leaves 0 and 1, 2 and 3 are added, then these pairs, and so on; what is left
/// over at the end is added from the right. A worker that adds an aligned block of 2^k leaves itself and hands over
/// their sum (`add` with `level` k) gives the same bits as one that hands over the leaves.
/// Cost: one addition of vectors per leaf; memory log2(leaves) vectors. Threads: one owner.
/// Held by: src/learn/run/tree_sum_test.cpp
class TreeSum {
 public:
  /// `rounded`: each sum of two is rounded to that format.
  explicit TreeSum(std::size_t length, std::optional<NumberFormat> rounded = {})
      : length_(length), rounded_(rounded) {}
  void add(std::span<const float> leaf, std::size_t level = 0);
  /// Where the next leaf may be written, instead of a copy of one: until the next call. What is in it is anything.
  [[nodiscard]] std::span<float> room() {
    carry_.resize(length_);
    return carry_;
  }
  /// `add` of what was written into `room`.
  void add_room(std::size_t level = 0);
  [[nodiscard]] std::int64_t leaves() const { return leaves_; }
  /// Of all leaves; valid until the next call. Ends the sum: the next leaf begins another.
  [[nodiscard]] std::span<float> take();

 private:
  struct Level {
    bool full = false;
    std::vector<float> sum;
  };
  /// right = left + right
  void add_left(std::span<const float> left, std::span<float> right) const;

  std::size_t length_;
  std::optional<NumberFormat> rounded_;
  std::int64_t leaves_ = 0;
  std::vector<Level> levels_;
  std::vector<float> carry_;
};

}  // namespace cox::learn
