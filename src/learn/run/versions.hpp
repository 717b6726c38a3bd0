// SPDX-License-Identifier: Apache-2.0
/// \file
/// Versions of the parameters that somebody still works with.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cox/learn/problem.hpp"

namespace cox::learn {

/// A worker that reads holds on to the newest version; nothing is copied until the next one is made, and nothing then
/// if nobody holds it. Memory: the newest, and as many as are held. Held by: src/learn/run/versions_test.cpp
class Versions {
 public:
  /// All workers have read where the problem begins.
  Versions(const Problem& problem, int workers)
      : held_(static_cast<std::size_t>(workers), 0), slots_(1, Slot{.readers = workers}) {
    slots_[0].values.resize(static_cast<std::size_t>(problem.parameters()));
    problem.initial(slots_[0].values);
  }
  void add_worker() { held_.push_back(kNone); }
  void read(int worker) {
    held_[static_cast<std::size_t>(worker)] = newest_;
    ++slots_[newest_].readers;
  }
  void forget(int worker) {
    std::size_t& slot = held_[static_cast<std::size_t>(worker)];
    if (slot == kNone) return;
    if (--slots_[slot].readers == 0 && slot != newest_) free_.push_back(slot);
    slot = kNone;
  }
  /// What the worker has read.
  [[nodiscard]] std::span<const float> of(int worker) const {
    return slots_[held_[static_cast<std::size_t>(worker)]].values;
  }
  [[nodiscard]] std::span<const float> newest() const { return slots_[newest_].values; }
  /// The next version, so far like the newest; it is the newest then.
  [[nodiscard]] std::span<float> next();
  /// Buffers in all.
  [[nodiscard]] std::size_t buffers() const { return slots_.size(); }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  struct Slot {
    std::vector<float> values{};
    int readers = 0;
  };
  std::vector<std::size_t> held_;  ///< slot of each worker
  std::vector<Slot> slots_;
  std::vector<std::size_t> free_;
  std::size_t newest_ = 0;
};

}  // namespace cox::learn
