// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ordering constraints around synchronisation points: who enters before whom. Local knowledge only, no communication. Libc
/// only: part of the guest.
#pragma once

#include <atomic>
#include <cstdint>

#include "cox/base/units.hpp"

namespace cox::pace {

/// Keeps the collectives of one group in the order of their numbers on this rank, where a pool of threads
/// would submit number k before k - 1.
///
/// A thread that wants to enter `k` asks for its hold, waits at most that long, asks again, and calls
/// `enter`. Nothing waits without bound: a hold is over after `max_delay`, and a group whose holds ran out
/// `kMostExpired` times (its numbers have gaps, or one thread submits them backwards) is left alone for good,
/// so the whole harm of a wrong order is below kMostExpired x max_delay.
/// Threads: any number at once; no lock. Cost: O(1), no allocation, no system call, 0.5 KiB.
/// Held by: src/pace/order_test.cpp
class Order {
 public:
  /// Numbers in flight at once that are told apart.
  static constexpr std::uint64_t kInFlight = 64;
  static constexpr std::uint32_t kMostExpired = 8;

  /// `max_delay`: longest that one collective is held; zero or less switches it off.
  explicit Order(Duration max_delay) noexcept : max_delay_(max_delay) {}

  /// How much longer number `k` has to be held where its thread has waited for `waited` already; zero =
  /// enter. Nothing is held before the first `enter`: what came before a guest was attached is not known.
  [[nodiscard]] Duration hold(std::uint64_t k, Duration waited) const noexcept;
  /// Number `k` is being entered now. Returns whether its predecessor had been.
  bool enter(std::uint64_t k) noexcept;
  /// Holds that ran out, or were not asked for, so that a number went before its predecessor.
  [[nodiscard]] std::uint32_t expired() const noexcept { return expired_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool is_active() const noexcept {
    return max_delay_ > Duration::zero() && expired() < kMostExpired;
  }

 private:
  [[nodiscard]] bool was_entered(std::uint64_t k) const noexcept;
  Duration max_delay_;
  std::atomic<std::uint64_t> entered_[kInFlight] = {};  // number + 1, by number modulo kInFlight
  std::atomic<bool> begun_{false};
  std::atomic<std::uint32_t> expired_{0};
};

}  // namespace cox::pace
