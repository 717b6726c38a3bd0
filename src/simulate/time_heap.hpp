// SPDX-License-Identifier: Apache-2.0
/// \file
/// The earliest of many times that may change: a 4-ary heap that knows where each of its entries stands.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace cox::simulate {

/// Entries are small numbers, each with one time. Equal times leave in the order of the numbers.
/// Cost: O(log n) to set or remove, O(1) to look.
class TimeHeap {
 public:
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] std::size_t size() const { return heap_.size(); }
  [[nodiscard]] double next_time() const {
    return heap_.empty() ? std::numeric_limits<double>::infinity() : heap_.front().at;
  }
  [[nodiscard]] std::uint32_t next() const { return heap_.front().id; }

  void set(std::uint32_t id, double at) {
    if (id >= place_.size()) place_.resize(id + 1, kNowhere);
    std::size_t i = place_[id];
    if (i == kNowhere) {
      i = heap_.size();
      heap_.push_back({at, id});
      up(i);
      return;
    }
    const bool earlier = at < heap_[i].at;
    heap_[i].at = at;
    if (earlier)
      up(i);
    else
      down(i);
  }

  void remove(std::uint32_t id) {
    const std::size_t i = place_[id];
    if (i == kNowhere) return;
    place_[id] = kNowhere;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (i == heap_.size()) return;
    const bool earlier = before(last, heap_[i]);
    put(i, last);
    if (earlier)
      up(i);
    else
      down(i);
  }

  /// Adds `by` to every time; the order stays.
  void shift(double by) {
    for (Entry& e : heap_) e.at += by;
  }

  [[nodiscard]] bool holds(std::uint32_t id) const { return id < place_.size() && place_[id] != kNowhere; }
  [[nodiscard]] double time_of(std::uint32_t id) const { return heap_[place_[id]].at; }

 private:
  static constexpr std::uint32_t kNowhere = 0xffffffff;
  struct Entry {
    double at;
    std::uint32_t id;
  };
  static bool before(const Entry& a, const Entry& b) { return a.at < b.at || (a.at == b.at && a.id < b.id); }

  void up(std::size_t i) {
    const Entry e = heap_[i];
    while (i > 0) {
      const std::size_t parent = (i - 1) / 4;
      if (!before(e, heap_[parent])) break;
      put(i, heap_[parent]);
      i = parent;
    }
    put(i, e);
  }

  void down(std::size_t i) {
    const Entry e = heap_[i];
    const std::size_t n = heap_.size();
    while (4 * i + 1 < n) {
      std::size_t least = 4 * i + 1;
      const std::size_t end = least + 4 < n ? least + 4 : n;
      for (std::size_t c = least + 1; c < end; ++c)
        if (before(heap_[c], heap_[least])) least = c;
      if (!before(heap_[least], e)) break;
      put(i, heap_[least]);
      i = least;
    }
    put(i, e);
  }

  void put(std::size_t i, const Entry& e) {
    heap_[i] = e;
    place_[e.id] = static_cast<std::uint32_t>(i);
  }

  std::vector<Entry> heap_;
  std::vector<std::uint32_t> place_;
};

}  // namespace cox::simulate
