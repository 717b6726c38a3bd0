// SPDX-License-Identifier: Apache-2.0
// Guest code: libc only.
#include "cox/pace/controller.hpp"

namespace cox::pace {

// Formula: the order of pair p is one bit of the SplitMix64 mix of seed + p x golden ratio (Steele, Lea,
// Flood 2014), so that no block has a fixed place in anything periodic.
bool Pattern::is_paced(std::uint64_t step) const noexcept {
  std::uint64_t z = seed_ + (pair_of(step) + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  z ^= z >> 31;
  const bool first_is_paced = (z & 1) != 0;
  return is_first(step) == first_is_paced;
}

}  // namespace cox::pace
