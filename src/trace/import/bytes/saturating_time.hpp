// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sums of times from different files, which may lie further apart than a Duration holds.
#pragma once

#include "cox/base/units.hpp"

namespace cox::trace {

/// a + b, at the end of the range where it lies beyond. Order is kept: a <= b gives a + c <= b + c.
/// Held by: src/trace/import/part/align_sequences_test.cpp
[[nodiscard]] constexpr Duration saturating_sum(Duration a, Duration b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a.count(), b.count(), &sum)) return Duration(sum);
  return a < Duration::zero() ? Duration::min() : Duration::max();
}

/// a - b, at the end of the range where it lies beyond.
[[nodiscard]] constexpr Duration saturating_difference(Duration a, Duration b) {
  std::int64_t difference = 0;
  if (!__builtin_sub_overflow(a.count(), b.count(), &difference)) return Duration(difference);
  return a < b ? Duration::min() : Duration::max();
}

}  // namespace cox::trace
