// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which k elements are the largest, exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cox::learn {

/// Bits of |x|, which are in the order of |x|; NaN is above all.
[[nodiscard]] std::uint32_t size_bits(float x);

/// Places of the k largest |x|, in order; of equals those that come first. A bound from a sample leaves few candidates,
/// the k-th of which is found exactly; where the sample misled, all are candidates.
/// Pre: 0 < k <= x.size() < 2^32 (asserted). Cost: O(d) on average; memory beside the result: the candidates.
/// Held by: src/learn/compress/largest_places_test.cpp (against a sort)
[[nodiscard]] std::vector<std::uint32_t> largest_places(std::span<const float> x, std::size_t k);

/// Places with |x| >= bound, in order. A NaN is one of them.
[[nodiscard]] std::vector<std::uint32_t> places_at_least(std::span<const float> x, std::uint32_t bound);

}  // namespace cox::learn
