// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the closures of rings share: which chunk is large, and a maximum over a window that slides.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace cox::simulate {

/// Quotient and remainder towards minus infinity, for an `a` that is few laps away from
/// [0, n): cheaper than division.
struct Laps {
  std::int64_t whole = 0;
  std::int64_t rest = 0;
};
[[nodiscard]] inline Laps laps(std::int64_t a, std::int64_t n) {
  Laps l{0, a};
  for (; l.rest < 0; --l.whole) l.rest += n;
  for (; l.rest >= n; ++l.whole) l.rest -= n;
  return l;
}

/// Maximum over a window of the integers whose ends only grow. Memory:
/// 16 bytes per element that can still win.
class SlidingMaximum {
 public:
  void push(std::int64_t at, double value) {
    while (size() > 0 && entries_.back().value <= value) entries_.pop_back();
    entries_.push_back({at, value});
  }
  /// Of the elements from `low` on; minus infinity where there is none.
  [[nodiscard]] double from(std::int64_t low) {
    while (size() > 0 && entries_[begin_].at < low) ++begin_;
    if (begin_ > 4096 && begin_ > entries_.size() / 2) {
      entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(begin_));
      begin_ = 0;
    }
    return size() > 0 ? entries_[begin_].value : -std::numeric_limits<double>::infinity();
  }

 private:
  struct Entry {
    std::int64_t at;
    double value;
  };
  [[nodiscard]] std::size_t size() const { return entries_.size() - begin_; }
  std::vector<Entry> entries_;
  std::size_t begin_ = 0;
};

/// A ring in which place s sends chunk s + phase - k in round k to its successor, for `rounds` rounds. Chunks
/// [0, large) modulo `places` are one byte longer than the others.
struct RingLane {
  std::int64_t places;
  std::int64_t rounds;
  std::int64_t phase;
  std::int64_t large;

  [[nodiscard]] bool is_large(std::int64_t chunk) const { return laps(chunk, places).rest < large; }
  /// Large chunks among the integers below x, counted from 0.
  [[nodiscard]] std::int64_t large_below(std::int64_t x) const {
    const auto [whole, rest] = laps(x, places);
    return whole * large + std::min(rest, large);
  }
  /// The first large chunk from x on.
  [[nodiscard]] std::int64_t next_large(std::int64_t x) const {
    const std::int64_t rest = laps(x, places).rest;
    return rest < large ? x : x + places - rest;
  }
};

}  // namespace cox::simulate
