// SPDX-License-Identifier: Apache-2.0
/// \file
/// Ordering constraints around synchronisation points: who enters before whom, and how far apart groups start
/// that share a link. Local knowledge only, no communication. Libc only: part of the guest.
#pragma once

#include <atomic>
#include <cstdint>

#include "cox/base/units.hpp"
#include "cox/pace/settings.hpp"

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

/// One of several groups whose collectives start together and share a link.
struct SharedLink {
  Duration period{};    ///< typical time of an iteration
  Duration together{};  ///< what this group's transfer takes while all share the link
  Duration alone{-1};   ///< what it takes alone: from size and calibration; negative = not known
  Duration slack{};     ///< transfer time per iteration that computation hides
  std::uint32_t group = 0;
  std::uint32_t groups = 1;
};

/// By how much the group starts later than the first one, so that the link is used by one after the other.
///
/// Formula: group x min(together / groups, alone), at most min(max_delay, max_ratio x period).
///          Zero where `alone` is not known; where the link is not what limits them, together < 0.9 x groups
///          x alone; and where all of it is hidden, groups x alone <= slack.
/// Source: a link shared in equal parts is a processor-sharing server, which never idles while there is work.
///         Its busy period is the sum of the work whatever the starts, as long as each group starts before
///         the work ahead of it is done, which `group x alone` says: so the last completion stays at groups x
///         alone, while the first of two that start d apart completes at 2 x alone - d: the mean falls by
///         d / 2. (Kleinrock, Queueing Systems, volume 2, 1976, chapter 4.)
/// Errors: `together` and `alone` that are too large by a factor f delay the last completion by up to (f - 1)
///         x (groups - 1) x alone, which a test of benefit notices; too small ones only gain less.
/// Cost: O(1). Held by: src/pace/order_test.cpp
[[nodiscard]] Duration stagger_offset(const SharedLink& link, const Settings& bounds) noexcept;

}  // namespace cox::pace
