// SPDX-License-Identifier: Apache-2.0
/// \file
/// Sums and differences of spans that stop at the range of `Duration`: times in a file may be anything.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "cox/base/units.hpp"

namespace cox::diagnose {

[[nodiscard]] inline Duration plus_clamped(Duration a, Duration b) {
  Duration::rep sum = 0;
  if (!__builtin_add_overflow(a.count(), b.count(), &sum)) return Duration{sum};
  return b.count() > 0 ? Duration::max() : Duration::min();
}

[[nodiscard]] inline Duration minus_clamped(Duration a, Duration b) {
  Duration::rep difference = 0;
  if (!__builtin_sub_overflow(a.count(), b.count(), &difference)) return Duration{difference};
  return b.count() < 0 ? Duration::max() : Duration::min();
}

inline void add_to(Duration& sum, Duration d) {
  sum = plus_clamped(sum, d);
}

[[nodiscard]] inline Duration positive_part(Duration d) {
  return std::max(d, Duration::zero());
}

/// Puts the k-th order statistic where it belongs, nothing larger before it and nothing smaller behind it, and returns
/// it: std::nth_element without a branch per value. Cost: O(n).
/// Held by: src/diagnose/match/span_math_test.cpp
Duration select_in_place(std::span<Duration> sample, std::size_t k);

/// Lower median: the ((n-1)/2)-th order statistic. Of two values it is the smaller one, and where exactly
/// half of the ranks are slow it is the value of the fast half. Reorders `sample`, which must not be empty.
[[nodiscard]] inline Duration lower_median_in_place(std::span<Duration> sample) {
  return select_in_place(sample, (sample.size() - 1) / 2);
}

}  // namespace cox::diagnose
