// SPDX-License-Identifier: Apache-2.0
/// \file
/// The earliest of many times that may change: a 4-ary heap that knows where each of its entries stands.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace cox::simulate {

/// Entries are small numbers, each with one time that is not negative. What leaves first of equal times
/// depends on the history, not on addresses: the same calls give the same order.
/// Times are compared as integers (the bits of doubles that are not negative are in their order), so that the
/// least of four children is found without a branch. Cost: O(log n) to set or remove, O(1) to look.
class TimeHeap {
 public:
  [[nodiscard]] bool empty() const { return ids_.empty(); }
  [[nodiscard]] double next_time() const {
    return ids_.empty() ? std::numeric_limits<double>::infinity() : std::bit_cast<double>(times_[0]);
  }
  [[nodiscard]] std::uint32_t next() const { return ids_.front(); }

  [[gnu::always_inline]] void set(std::uint32_t id, double at) {
    const std::uint64_t time = std::bit_cast<std::uint64_t>(at + 0.0);  // -0 has other bits
    if (!holds(id)) return add(id, time);
    const std::size_t i = place_[id];
    if (i > 0 && time < times_[(i - 1) / 4]) return up(i, time, id);
    if (4 * i + 1 < ids_.size()) return down(i, time, id);
    times_[i] = time;  // most stay where they are
  }

  void remove(std::uint32_t id) {
    const std::size_t i = place_[id];
    if (i == kNowhere) return;
    place_[id] = kNowhere;
    const std::uint64_t time = times_.back();
    const std::uint32_t last = ids_.back();
    times_.pop_back();
    ids_.pop_back();
    if (i == ids_.size()) return;
    time < times_[i] ? up(i, time, last) : down(i, time, last);
  }

  /// Adds `by` >= 0 to every time; the order stays.
  void shift(double by) {
    for (std::uint64_t& t : times_) t = std::bit_cast<std::uint64_t>(std::bit_cast<double>(t) + by);
  }

  [[nodiscard]] bool holds(std::uint32_t id) const { return id < place_.size() && place_[id] != kNowhere; }
  [[nodiscard]] double time_of(std::uint32_t id) const { return std::bit_cast<double>(times_[place_[id]]); }

 private:
  static constexpr std::uint32_t kNowhere = 0xffffffff;

  [[gnu::noinline]] void add(std::uint32_t id, std::uint64_t time) {
    if (id >= place_.size()) place_.resize(id + 1, kNowhere);
    times_.push_back(time);
    ids_.push_back(id);
    up(ids_.size() - 1, time, id);
  }

  void put(std::size_t i, std::uint64_t time, std::uint32_t id) {
    times_[i] = time;
    ids_[i] = id;
    place_[id] = static_cast<std::uint32_t>(i);
  }

  [[gnu::noinline]] void up(std::size_t i, std::uint64_t time, std::uint32_t id) {
    while (i > 0) {
      const std::size_t parent = (i - 1) / 4;
      if (time >= times_[parent]) break;
      put(i, times_[parent], ids_[parent]);
      i = parent;
    }
    put(i, time, id);
  }

  [[gnu::noinline]] void down(std::size_t i, std::uint64_t time, std::uint32_t id) {
    const std::size_t n = ids_.size();
    const std::uint64_t* t = times_.data();
    while (4 * i + 1 < n) {
      const std::size_t first = 4 * i + 1;
      std::size_t least = first;
      if (first + 4 <= n) {
        const std::size_t a = first + static_cast<std::size_t>(t[first + 1] < t[first]);
        const std::size_t b = first + 2 + static_cast<std::size_t>(t[first + 3] < t[first + 2]);
        least = a ^ ((a ^ b) & -static_cast<std::size_t>(t[b] < t[a]));
      } else {
        for (std::size_t c = first + 1; c < n; ++c) least = t[c] < t[least] ? c : least;
      }
      if (t[least] >= time) break;
      put(i, t[least], ids_[least]);
      i = least;
    }
    put(i, time, id);
  }

  std::vector<std::uint64_t> times_;
  std::vector<std::uint32_t> ids_;
  std::vector<std::uint32_t> place_;
};

}  // namespace cox::simulate
