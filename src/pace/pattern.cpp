// SPDX-License-Identifier: Apache-2.0
// Guest code: libc only.
#include "cox/base/hash.hpp"
#include "cox/pace/controller.hpp"

namespace cox::pace {

// The order of pair p is one bit of number p + 1 of SplitMix64, so that no block has a fixed place in
// anything periodic.
bool Pattern::is_paced(std::uint64_t step) const noexcept {
  const bool first_is_paced = (mix_bits(seed_ + (pair_of(step) + 1) * kGoldenStep) & 1) != 0;
  return is_first(step) == first_is_paced;
}

}  // namespace cox::pace
