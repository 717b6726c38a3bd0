// SPDX-License-Identifier: Apache-2.0
// Guest code: libc only.
#include "cox/pace/order.hpp"

namespace cox::pace {

bool Order::was_entered(std::uint64_t k) const noexcept {
  // A later number in the same place means that k is further back than anything in flight.
  return entered_[k % kInFlight].load(std::memory_order_acquire) > k;
}

Duration Order::hold(std::uint64_t k, Duration waited) const noexcept {
  if (k == 0 || !is_active() || !begun_.load(std::memory_order_acquire)) return Duration::zero();
  if (was_entered(k - 1) || waited >= max_delay_) return Duration::zero();
  return waited < Duration::zero() ? max_delay_ : max_delay_ - waited;
}

bool Order::enter(std::uint64_t k) noexcept {
  const bool begun = begun_.exchange(true, std::memory_order_acq_rel);
  const bool in_order = k == 0 || !begun || was_entered(k - 1);
  if (!in_order && expired() < kMostExpired) expired_.fetch_add(1, std::memory_order_relaxed);
  std::atomic<std::uint64_t>& place = entered_[k % kInFlight];
  std::uint64_t seen = place.load(std::memory_order_relaxed);
  while (seen < k + 1 && !place.compare_exchange_weak(seen, k + 1, std::memory_order_acq_rel)) {
  }
  return in_order;
}

}  // namespace cox::pace
