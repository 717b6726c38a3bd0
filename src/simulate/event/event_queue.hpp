// SPDX-License-Identifier: Apache-2.0
/// \file
/// Events by (time, order), with those that come next laid out in a row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace cox::simulate {

struct Event {
  std::int64_t time;      ///< picoseconds, not negative
  std::uint64_t order;    ///< unique; among equal times the lower comes first
  const std::byte* node;  ///< the operation, of `rank`
  std::uint32_t rank;
  std::uint32_t at;  ///< the rank where it happens: a message's receiver, else `rank`
};

/// A calendar queue (Brown 1988) behind a sorted row: the row holds the next kAhead events and more, so what they will touch
/// can be fetched while others are worked on; behind it lie buckets of 2^shift picoseconds, a list each; what is further
/// than all buckets is in a heap. An event is mostly placed once and copied once, however many are on their way.
///
/// Memory: 36 bytes per event on its way, 32 per event in the row, 8 KiB. Cost: O(1) per event where times are spread as they
/// were (the width of a bucket follows them), O(log n) else. Held by: src/simulate/event/event_queue_test.cpp
class EventQueue {
 public:
  EventQueue() : last_(kBuckets, kNone), used_(kBuckets / 64, 0) {}

  /// Adds an event; it may be before one that was taken already. Inlined, so that an event goes from registers to where it
  /// lies: copied from where it was just put together, it would wait for those stores.
  [[gnu::always_inline]] void push(const Event& e) {
    const std::int64_t ahead = slot(e.time) - reach_;
    if (static_cast<std::uint64_t>(ahead) < kBuckets) {
      place(e);
    } else {
      push_elsewhere(e.time, e.order, e.node, e.rank, e.at);
    }
  }

  [[nodiscard]] bool empty() const { return head_ == row_.size() && late_.empty() && held_ == 0; }
  /// Takes the first one; there must be one.
  Event pop() {
    if (row_.size() - head_ <= kAhead && held_ != 0) extend();
    if (!late_.empty() && (head_ == row_.size() || comes_after(row_[head_], late_.front())))
      return pop_late();
    return row_[head_++];
  }
  /// The event that comes after `ahead` others; null where that is not known without work.
  [[nodiscard]] const Event* soon(std::size_t ahead) const {
    return head_ + ahead < row_.size() ? &row_[head_ + ahead] : nullptr;
  }

  static constexpr std::size_t kAhead = 32;  ///< so many are in the row, or all of the next kWindow buckets

 private:
  static constexpr std::int64_t kBuckets = 2048;
  static constexpr std::int64_t kWindow = kBuckets / 8;
  static constexpr std::size_t kExtended = kAhead + 16;  ///< so long is the row after it has grown
  static constexpr std::size_t kMostShifted = 64;        ///< events that make room for one in the row
  static constexpr std::size_t kReview = 8192;           ///< events after which the width is looked at
  static constexpr std::size_t kFewest = 3;              ///< events in a bucket that holds any, on average
  static constexpr std::size_t kMost = 12;               ///< the same, of those that hold several instants
  static constexpr int kWidest = 52;                     ///< shift with which no time is beyond the buckets
  static constexpr std::uint32_t kNone = 0xffffffff;

  static bool comes_after(const Event& a, const Event& b) {
    return a.time != b.time ? a.time > b.time : a.order > b.order;
  }
  static bool comes_before(const Event& a, const Event& b) { return comes_after(b, a); }
  [[nodiscard]] std::int64_t slot(std::int64_t time) const { return time >> shift_; }

  /// Puts an event at the end of its bucket's list.
  [[gnu::always_inline]] void place(const Event& e) {
    ++held_;
    if (free_ == kNone) grow_pool();
    const std::uint32_t at = free_;
    free_ = next_[at];
    Event& kept = pool_[at];
    kept.time = e.time;
    kept.order = e.order;
    kept.node = e.node;
    kept.rank = e.rank;
    kept.at = e.at;
    const std::size_t bucket = static_cast<std::size_t>(slot(e.time)) % kBuckets;
    const std::uint32_t last = std::exchange(last_[bucket], at);
    if (last != kNone) {
      next_[at] = std::exchange(next_[last], at);
    } else {
      next_[at] = at;
      used_[bucket / 64] |= std::uint64_t{1} << (bucket % 64);
    }
  }
  void push_elsewhere(std::int64_t time, std::uint64_t order, const std::byte* node, std::uint32_t rank,
                      std::uint32_t at);
  void grow_pool();
  void insert(const Event& e);
  void put_beyond(const Event& e);
  void extend();
  void take_bucket(std::int64_t at);
  void sort_from(std::size_t begin);
  [[nodiscard]] std::int64_t next_slot() const;
  void review();
  void set_shift(int shift);
  Event pop_late();

  std::vector<Event> row_;  ///< ascending from `head_` on
  std::size_t head_ = 0;
  std::vector<Event> late_;          ///< a heap: would have moved too many of the row
  int shift_ = 12;                   ///< log2 of a bucket's width in picoseconds
  std::int64_t reach_ = 0;           ///< events of earlier buckets are in the row or late
  std::size_t held_ = 0;             ///< in buckets and beyond
  std::vector<std::uint32_t> last_;  ///< of each bucket's list; kNone: empty
  std::vector<std::uint64_t> used_;  ///< bit per bucket
  std::vector<Event> pool_;
  std::vector<std::uint32_t> next_;  ///< in the bucket's list, which is a circle; or of those that are free
  std::uint32_t free_ = kNone;
  std::vector<Event> beyond_;  ///< a heap: later than all buckets

  // Since the width was last reviewed:
  std::size_t taken_ = 0;  ///< from buckets
  std::size_t buckets_ = 0;
  std::size_t mixed_ = 0;  ///< of several instants
  std::size_t mixed_buckets_ = 0;
  std::size_t put_beyond_ = 0;
  std::size_t put_late_ = 0;
};

}  // namespace cox::simulate
