// SPDX-License-Identifier: Apache-2.0
#include "cox/learn/loss_scale.hpp"

#include <algorithm>

namespace cox::learn {
namespace {

constexpr double kMost = 1 << 24;

}  // namespace

bool LossScale::end_step(bool overflowed) {
  if (overflowed) {
    ++now_.skipped;
    now_.good = 0;
    if (spec_.dynamic) now_.factor = std::max(now_.factor / 2, 1 / kMost);
    return false;
  }
  if (spec_.dynamic && ++now_.good == spec_.growth_interval) {
    now_.good = 0;
    now_.factor = std::min(now_.factor * 2, kMost);
  }
  return true;
}

}  // namespace cox::learn
