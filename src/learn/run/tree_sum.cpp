// SPDX-License-Identifier: Apache-2.0
#include "learn/run/tree_sum.hpp"

#include <utility>

#include "cox/base/assert.hpp"

namespace cox::learn {

void TreeSum::add_left(std::span<const float> left, std::span<float> right) const {
  for (std::size_t i = 0; i < right.size(); ++i) right[i] = left[i] + right[i];
  if (rounded_) round_to(*rounded_, right, right);
}

void TreeSum::add(std::span<const float> leaf, std::size_t level) {
  COX_ASSERT(leaf.size() == length_, "leaves of one length");
  carry_.assign(leaf.begin(), leaf.end());
  add_room(level);
}

void TreeSum::add_room(std::size_t level) {
  COX_ASSERT(carry_.size() == length_, "a leaf was written");
  COX_ASSERT(leaves_ % (std::int64_t{1} << level) == 0, "a block of leaves is aligned");
  leaves_ += std::int64_t{1} << level;
  for (;; ++level) {
    if (levels_.size() <= level) levels_.resize(level + 1);
    Level& l = levels_[level];
    if (!l.full) {
      std::swap(l.sum, carry_);
      l.full = true;
      return;
    }
    add_left(l.sum, carry_);
    l.full = false;
  }
}

std::span<float> TreeSum::take() {
  bool any = false;
  for (Level& l : levels_) {
    if (!l.full) continue;
    if (any)
      add_left(l.sum, carry_);
    else
      std::swap(l.sum, carry_);
    any = true;
    l.full = false;
  }
  if (!any) carry_.assign(length_, 0.0F);
  leaves_ = 0;
  return carry_;
}

}  // namespace cox::learn
