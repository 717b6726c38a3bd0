// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sums of times that stop at the range of `Duration` instead of wrapping: durations may come from any file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace cox::replay::detail {

using Ticks = std::int64_t;
inline constexpr Ticks kLongest = std::numeric_limits<Ticks>::max();

/// For any two numbers.
[[nodiscard]] inline Ticks plus(Ticks a, Ticks b) {
  Ticks sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) [[likely]]
    return sum;
  return b > 0 ? kLongest : std::numeric_limits<Ticks>::min();
}

[[nodiscard]] inline Ticks minus(Ticks a, Ticks b) {
  Ticks difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) [[likely]]
    return difference;
  return b < 0 ? kLongest : std::numeric_limits<Ticks>::min();
}

/// For two that are not negative, without a branch.
[[nodiscard]] inline Ticks plus_positive(Ticks a, Ticks b) {
  return static_cast<Ticks>(std::min(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b),
                                     static_cast<std::uint64_t>(kLongest)));
}

}  // namespace cox::replay::detail
