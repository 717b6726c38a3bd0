// SPDX-License-Identifier: Apache-2.0
#include "simulate/event/event_queue.hpp"

#include <algorithm>
#include <bit>

namespace cox::simulate {

void EventQueue::push_elsewhere(std::int64_t time, std::uint64_t order, const std::byte* node,
                                std::uint32_t rank, std::uint32_t at) {
  const Event e{time, order, node, rank, at};
  if (slot(time) >= reach_) return put_beyond(e);
  if (head_ == row_.size() || comes_after(e, row_.back())) {
    row_.push_back(e);
  } else {
    insert(e);
  }
}

void EventQueue::grow_pool() {
  free_ = static_cast<std::uint32_t>(pool_.size());
  pool_.emplace_back();
  next_.push_back(kNone);
}

void EventQueue::put_beyond(const Event& e) {
  ++held_;
  ++put_beyond_;
  beyond_.push_back(e);
  std::push_heap(beyond_.begin(), beyond_.end(), comes_after);
}

/// Moves the shorter side of the row. Most that come here are of the instant at hand: before all but a few.
void EventQueue::insert(const Event& e) {
  const auto first = row_.begin() + static_cast<std::ptrdiff_t>(head_);
  const auto at = std::upper_bound(first, row_.end(), e, comes_before);
  const auto most = static_cast<std::ptrdiff_t>(kMostShifted);
  if (head_ > 0 && at - first <= most && at - first <= row_.end() - at) {
    std::move(first, at, first - 1);
    *(at - 1) = e;
    --head_;
  } else if (row_.end() - at <= most) {
    row_.insert(at, e);
  } else {
    ++put_late_;
    late_.push_back(e);
    std::push_heap(late_.begin(), late_.end(), comes_after);
  }
}

/// Appends buckets to the row until it is long enough, or the next one is far from what comes first.
void EventQueue::extend() {
  if (taken_ >= kReview && taken_ >= 4 * held_) review();
  if (head_ == row_.size()) {
    row_.clear();
    head_ = 0;
  } else if (head_ >= 4 * kAhead && 2 * head_ >= row_.size()) {
    row_.erase(row_.begin(), row_.begin() + static_cast<std::ptrdiff_t>(head_));
    head_ = 0;
  }
  while (held_ != 0 && row_.size() - head_ < kExtended) {
    const bool none = head_ == row_.size();
    if (held_ == beyond_.size()) {
      if (!none) return;
      reach_ = std::max(reach_, slot(beyond_.front().time));
    }
    while (!beyond_.empty() && slot(beyond_.front().time) - reach_ < kBuckets) {
      std::pop_heap(beyond_.begin(), beyond_.end(), comes_after);
      --held_;
      place(beyond_.back());
      beyond_.pop_back();
    }
    const std::int64_t next = next_slot();
    if (!none && next - slot(row_[head_].time) > kWindow) return;
    take_bucket(next);
  }
}

/// Of the first bucket that holds something; there must be one.
std::int64_t EventQueue::next_slot() const {
  const auto from = static_cast<std::size_t>(reach_ % kBuckets);
  std::size_t word = from / 64;
  std::uint64_t bits = used_[word] & (~std::uint64_t{0} << (from % 64));
  while (bits == 0) {
    word = (word + 1) % used_.size();
    bits = used_[word];
  }
  const std::size_t bucket = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
  return reach_ + static_cast<std::int64_t>((bucket - from) % kBuckets);
}

void EventQueue::take_bucket(std::int64_t at) {
  const auto bucket = static_cast<std::size_t>(at % kBuckets);
  const std::uint32_t last = std::exchange(last_[bucket], kNone);
  used_[bucket / 64] &= ~(std::uint64_t{1} << (bucket % 64));
  reach_ = at + 1;
  const std::size_t begin = row_.size();
  const std::uint32_t first = next_[last];
  for (std::uint32_t i = first; i != last; i = next_[i]) row_.push_back(pool_[i]);
  row_.push_back(pool_[last]);
  next_[last] = std::exchange(free_, first);
  const std::size_t taken = row_.size() - begin;
  held_ -= taken;
  taken_ += taken;
  ++buckets_;
  if (taken > 1) sort_from(begin);
}

/// Sorts what was appended to the row; it is in the order in which it was pushed.
void EventQueue::sort_from(std::size_t begin) {
  constexpr std::size_t kFew = 24;
  const auto from = row_.begin() + static_cast<std::ptrdiff_t>(begin);
  const std::size_t n = row_.size() - begin;
  if (n > kFew) {
    if (!std::is_sorted(from, row_.end(), comes_before)) std::sort(from, row_.end(), comes_before);
  } else {
    for (auto next = from + 1; next != row_.end(); ++next) {
      if (!comes_after(*(next - 1), *next)) continue;
      const Event e = *next;
      auto gap = next;
      for (; gap != from && comes_after(*(gap - 1), e); --gap) *gap = *(gap - 1);
      *gap = e;
    }
  }
  if (from->time == row_.back().time) return;
  mixed_ += n;
  ++mixed_buckets_;
}

/// Wider buckets where many events are beyond all of them or each of many holds few; narrower ones where they take long to sort or
/// many come into the row that it cannot be moved for.
void EventQueue::review() {
  const bool wide = mixed_ > kMost * mixed_buckets_ || put_late_ > taken_ / 8;
  const bool sparse = taken_ < kFewest * buckets_ && held_ > kExtended && !wide;
  if (put_beyond_ > taken_ / 8 || sparse) {
    if (shift_ < kWidest) set_shift(shift_ + 1);
  } else if (wide && put_beyond_ <= taken_ / 64 && shift_ > 0) {
    set_shift(shift_ - 1);
  }
  taken_ = buckets_ = mixed_ = mixed_buckets_ = put_beyond_ = put_late_ = 0;
}

void EventQueue::set_shift(int shift) {
  std::vector<Event> held;
  held.reserve(held_);
  for (std::uint32_t& last : last_) {
    if (last == kNone) continue;
    const std::uint32_t first = next_[last];
    for (std::uint32_t i = first; i != last; i = next_[i]) held.push_back(pool_[i]);
    held.push_back(pool_[last]);
    next_[last] = std::exchange(free_, first);
    last = kNone;
  }
  std::fill(used_.begin(), used_.end(), 0);
  held.insert(held.end(), beyond_.begin(), beyond_.end());
  beyond_.clear();
  held_ = 0;
  reach_ = shift > shift_ ? (reach_ + 1) >> 1 : reach_ << 1;  // what is in the row stays before it
  shift_ = shift;
  for (const Event& e : held) push(e);
}

Event EventQueue::pop_late() {
  std::pop_heap(late_.begin(), late_.end(), comes_after);
  const Event e = late_.back();
  late_.pop_back();
  return e;
}

}  // namespace cox::simulate
