// SPDX-License-Identifier: Apache-2.0
#include "learn/run/loss_scale.hpp"

#include <algorithm>

namespace cox::learn {
namespace {

constexpr double kMost = 1 << 24;

}  // namespace

bool LossScale::end_step(bool overflowed) {
  if (overflowed) {
    ++skipped_;
    good_ = 0;
    if (spec_.dynamic) factor_ = std::max(factor_ / 2, 1 / kMost);
    return false;
  }
  if (spec_.dynamic && ++good_ == spec_.growth_interval) {
    good_ = 0;
    factor_ = std::min(factor_ * 2, kMost);
  }
  return true;
}

}  // namespace cox::learn
