// SPDX-License-Identifier: Apache-2.0
// Guest code: libc only.
#include "cox/pace/wager.hpp"

#include "pace/arithmetic.hpp"

namespace cox::pace {

void Wager::add(std::uint32_t delay, double difference, double variance) noexcept {
  constexpr double kMostStaked = 0.9;
  Seen& seen = seen_[delay % kDelays];
  ++count_;
  known_ += (variance - known_) / count_;
  // Pairs before this one, and what is the same in both orders of this one.
  const double sampled = seen.count < 2 ? 0 : seen.squares / (seen.count - 1);
  const double scale = square_root(sampled > known_ ? sampled : known_);
  const double size = square_root(scale * scale + difference * difference);
  if (seen.mean >= 0 && size > 0) wealth_ *= 1 + kMostStaked * difference / size;
  ++seen.count;
  const double step = difference - seen.mean;
  seen.mean += step / seen.count;
  seen.squares += step * (difference - seen.mean);
}

}  // namespace cox::pace
