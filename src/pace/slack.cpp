// SPDX-License-Identifier: Apache-2.0
// Guest code: libc only.
#include "cox/pace/controller.hpp"

#include "pace/arithmetic.hpp"

namespace cox::pace {

void SlackWindow::add(Duration wait) noexcept {
  const auto ns = static_cast<float>(to_ns(wait < Duration::zero() ? Duration::zero() : wait));
  float& slot = waits_[seen_ % size_];
  const double gone = seen_ < size_ ? 0 : slot;
  sum_ += static_cast<double>(ns) - gone;
  squares_ += static_cast<double>(ns) * ns - gone * gone;
  slot = ns;
  if (++seen_ == 2 * size_) seen_ = size_;  // stays a full window, never wraps
}

Duration SlackWindow::mean() const noexcept {
  return count() == 0 ? Duration::zero() : from_ns(sum_ / count());
}

Duration SlackWindow::deviation() const noexcept {
  const double n = count();
  if (n < 2) return Duration::zero();
  const double variance = (squares_ - sum_ * sum_ / n) / (n - 1);
  return from_ns(square_root(variance));
}

Duration SlackWindow::root_mean_square() const noexcept {
  return count() == 0 ? Duration::zero() : from_ns(square_root(squares_ / count()));
}

Duration SlackWindow::predictable(double deviations) const noexcept {
  const double ns = to_ns(mean()) - deviations * to_ns(deviation());
  return ns > 0 ? from_ns(ns) : Duration::zero();
}

}  // namespace cox::pace
