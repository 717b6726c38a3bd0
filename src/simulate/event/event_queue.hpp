// SPDX-License-Identifier: Apache-2.0
/// \file
/// Events by (time, order), for a simulation whose clock hardly ever goes back.
///
/// A radix queue (Ahuja, Mehlhorn, Orlin, Tarjan 1990): buckets by the highest bit in which a time differs
/// from the clock. Events of one instant lie side by side in the order in which they came, so pushing and
/// popping are appends and reads, and who comes next is known ahead.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cox::simulate {

struct Event {
  std::int64_t time;    ///< picoseconds, not negative
  std::uint64_t order;  ///< unique; among equal times the lower comes first
  std::uint32_t rank;
  std::uint32_t operation;
};

class EventQueue {
 public:
  /// Adds an event whose order is above that of all that were ever pushed.
  void push(const Event& e) {
    if (e.time == clock_) {
      now_.push_back(e);
    } else {
      push_elsewhere(e);
    }
  }
  /// Adds an event that had its order before.
  void push_again(const Event& e) {
    if (e.time == clock_) {
      push_late(e);
    } else {
      push_elsewhere(e);
    }
  }

  [[nodiscard]] bool empty() const { return head_ == now_.size() && late_.empty() && used_ == 0; }
  /// Takes the first one; there must be one.
  Event pop() {
    if (!late_.empty() && (head_ == now_.size() || comes_after(now_[head_], late_.front())))
      return pop_late();
    if (head_ == now_.size()) refill();
    return now_[head_++];
  }
  /// An event that comes soon, as far as is known without work.
  [[nodiscard]] const Event* soon(std::size_t ahead) const {
    return head_ + ahead < now_.size() ? &now_[head_ + ahead] : nullptr;
  }
  /// Those of later instants that come first, in no order; empty where none are known without work.
  [[nodiscard]] std::span<const Event> nearest() const {
    if (used_ == 0) return {};
    return buckets_[static_cast<std::size_t>(std::countr_zero(used_))];
  }

 private:
  static bool comes_after(const Event& a, const Event& b) {
    return a.time != b.time ? a.time > b.time : a.order > b.order;
  }
  static int bucket_of(std::int64_t time, std::int64_t clock) {
    return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(time ^ clock))) - 1;
  }

  void push_elsewhere(const Event& e) {
    if (e.time < clock_) return push_late(e);
    const int b = bucket_of(e.time, clock_);
    buckets_[static_cast<std::size_t>(b)].push_back(e);
    used_ |= std::uint64_t{1} << b;
  }
  void push_late(const Event& e) {
    late_.push_back(e);
    std::push_heap(late_.begin(), late_.end(), comes_after);
  }
  Event pop_late() {
    std::pop_heap(late_.begin(), late_.end(), comes_after);
    const Event e = late_.back();
    late_.pop_back();
    return e;
  }

  /// Moves the clock to the next instant and its events to `now_`.
  void refill() {
    const int b = std::countr_zero(used_);
    std::vector<Event>& bucket = buckets_[static_cast<std::size_t>(b)];
    used_ &= used_ - 1;
    now_.clear();
    head_ = 0;
    clock_ = bucket.front().time;
    for (const Event& e : bucket) clock_ = std::min(clock_, e.time);
    if (b == 0) {
      now_.swap(bucket);
    } else {
      moving_.swap(bucket);
      for (const Event& e : moving_) {
        if (e.time == clock_) {
          now_.push_back(e);
        } else {
          const int to = bucket_of(e.time, clock_);
          buckets_[static_cast<std::size_t>(to)].push_back(e);
          used_ |= std::uint64_t{1} << to;
        }
      }
      moving_.clear();
      moving_.swap(bucket);
    }
    // Only what was pushed again can be out of order.
    const auto by_order = [](const Event& x, const Event& y) { return x.order < y.order; };
    if (!std::is_sorted(now_.begin(), now_.end(), by_order)) std::sort(now_.begin(), now_.end(), by_order);
  }

  std::int64_t clock_ = 0;
  std::vector<Event> now_;  ///< of the instant `clock_`, from `head_` on
  std::size_t head_ = 0;
  std::uint64_t used_ = 0;  ///< buckets that hold something
  std::array<std::vector<Event>, 64> buckets_;
  std::vector<Event> moving_;
  std::vector<Event> late_;  ///< heap: before the clock, or at it with an order from before
};

}  // namespace cox::simulate
