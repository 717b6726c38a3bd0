// SPDX-License-Identifier: Apache-2.0
/// \file
/// All elements by their number, of which only some are in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cox/base/units.hpp"

#include "train/executor/memory_count.hpp"
#include "train/executor/parting.hpp"

namespace cox::train {

/// Addresses for all elements; memory, in whole pages, for stretches that are open. What is closed goes back to the system. So a
/// gradient finds a unit's parameters where all of them would lie.
/// Threads: one owner. Held by: src/train/executor/paged_floats_test.cpp (pages that the system says are there)
class PagedFloats {
 public:
  PagedFloats(std::int64_t count, MemoryCount& memory, Use use);
  PagedFloats(const PagedFloats&) = delete;
  PagedFloats& operator=(const PagedFloats&) = delete;
  ~PagedFloats();

  /// Only open elements may be touched.
  [[nodiscard]] std::span<float> all() const { return {values_, count_}; }
  [[nodiscard]] std::span<float> of(const Stretch& s) const {
    return all().subspan(static_cast<std::size_t>(s.first), static_cast<std::size_t>(s.count));
  }
  /// Values are zeros, or those of a neighbour that shared the page.
  void open(const Stretch& s);
  void close(const Stretch& s);

 private:
  MemoryCount& memory_;
  Use use_;
  std::size_t count_;
  float* values_ = nullptr;
  std::vector<std::uint16_t> open_;  ///< stretches, by page
};

/// Of the pages that a stretch lies in.
[[nodiscard]] Bytes paged_bytes(const Stretch& s);

}  // namespace cox::train
