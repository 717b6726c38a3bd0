// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whole levels of a bucket's scale, rounded up or down by a draw so that the mean is right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "learn/compress/packed.hpp"

namespace cox::learn {

enum class BucketScale : std::uint8_t { Largest, Norm };

struct Levels {
  BucketScale scale = BucketScale::Largest;
  int count = 127;         ///< on each side of zero
  std::size_t bucket = 0;  ///< elements; 0 = all
  double clip = 0;         ///< root mean squares beyond which values are cut; 0 = none. One bucket only
};

/// Bytes for `size` elements: a float for each bucket, and 2, 4 or 8 bits for each element.
[[nodiscard]] std::size_t bytes_of(const Levels& levels, std::size_t size);
/// `key`: of the draws, by place in `in`. A bucket whose largest is below 2^-120 is sent as zeros.
void put_levels(const Levels& levels, std::span<const float> in, std::uint64_t key, Packed& to);
void take_levels(const Levels& levels, PackedReader& from, std::span<float> out);

}  // namespace cox::learn
