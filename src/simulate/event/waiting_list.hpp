// SPDX-License-Identifier: Apache-2.0
/// \file
/// What waits for one resource, by order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cox::simulate {

/// An event that waits for a CPU or port.
struct Waiter {
  std::uint64_t order;  ///< unique; the lowest goes first
  std::uint32_t rank;
  std::uint32_t operation;
};

/// A queue by order. Nearly all come in order: those lie in a row, appended and read from its front, so that thousands that
/// wait for one port cost a line of the cache each, no path through a heap. Those that come late are in a heap beside it.
/// Cost: O(1) for who comes in order, O(log late) else. Held by: src/simulate/event/waiting_list_test.cpp
class WaitingList {
 public:
  [[nodiscard]] bool empty() const { return head_ == row_.size() && late_.empty(); }
  /// The lowest order; there must be one.
  [[nodiscard]] const Waiter& front() const {
    const bool late = head_ == row_.size() || (!late_.empty() && late_.front().order < row_[head_].order);
    return late ? late_.front() : row_[head_];
  }
  [[gnu::always_inline]] void push(const Waiter& w) {  // from registers to where it lies
    if (head_ == row_.size() || last_ < w.order) {
      row_.push_back(w);
      last_ = w.order;
      return;
    }
    late_.push_back(w);
    std::push_heap(late_.begin(), late_.end(), ByOrder{});
  }
  void pop() {
    if (head_ == row_.size() || (!late_.empty() && late_.front().order < row_[head_].order)) {
      std::pop_heap(late_.begin(), late_.end(), ByOrder{});
      late_.pop_back();
      return;
    }
    if (++head_ == row_.size()) {
      row_.clear();
      head_ = 0;
    } else if (head_ >= kLeastGap && 2 * head_ >= row_.size()) {  // what is moved is less than what was read
      row_.erase(row_.begin(), row_.begin() + static_cast<std::ptrdiff_t>(head_));
      head_ = 0;
    }
  }

 private:
  static constexpr std::size_t kLeastGap = 64;
  struct ByOrder {  // a type, so that it is inlined
    bool operator()(const Waiter& a, const Waiter& b) const { return a.order > b.order; }
  };

  std::vector<Waiter> row_;  ///< ascending from `head_` on
  std::size_t head_ = 0;
  std::uint64_t last_ = 0;    ///< order of the row's last one, which need not be looked at
  std::vector<Waiter> late_;  ///< a heap
};

}  // namespace cox::simulate
