// SPDX-License-Identifier: Apache-2.0
/// \file
/// Floats that are told apart by their bits.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "cox/base/hash.hpp"

namespace cox::train {

/// FNV-1a over the bits of all values.
[[nodiscard]] inline std::uint64_t hash_of(std::span<const float> values) {
  Fnv1a hash;
  for (const float v : values) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &v, sizeof bits);
    hash.add_number(bits, 4);
  }
  return hash.value();
}

}  // namespace cox::train
