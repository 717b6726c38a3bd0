// SPDX-License-Identifier: Apache-2.0
#include "learn/run/versions.hpp"

#include <algorithm>

namespace cox::learn {

std::span<float> Versions::next() {
  if (slots_[newest_].readers == 0) return slots_[newest_].values;
  std::size_t slot = slots_.size();
  if (free_.empty()) {
    slots_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  slots_[slot].values = slots_[newest_].values;
  newest_ = slot;
  return slots_[slot].values;
}

}  // namespace cox::learn
