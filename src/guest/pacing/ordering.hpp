// SPDX-License-Identifier: Apache-2.0
/// \file
/// The order of collectives that a pool of threads submits, in a job: pace::Order for each communicator, and
/// the holds that it asks for.
#pragma once

#include <atomic>
#include <cstdint>

#include "cox/pace/order.hpp"

#include "guest/pacing/pacing.hpp"

namespace cox::guest {

/// Holds a collective until the one before it of the same communicator has begun on this rank, for
/// `Settings::order` at most. Does nothing where that is zero, in modes `off` and `observe`, and outside a
/// recording, or where an accelerator is driven.
///
/// Each hold is a Pace record of reason `in-order` on the thread that was held. What that brings is not
/// tested: its harm is bounded by pace::Order (eight holds that run out end it for the communicator).
/// Threads: any number at once. Cost: 0 where it is off; else some ns, and naps of 50 us while it holds.
/// Held by: src/guest/pacing/ordering_test.cpp
class Ordering {
 public:
  /// Communicators of a process whose collectives are kept in order; later ones are not.
  static constexpr std::uint32_t kGroups = 4;

  Ordering(const pace::Settings& settings, const PaceWorld& world) noexcept
      : world_(world),
        longest_(settings.mode > pace::Mode::Observe ? settings.order : Duration::zero()),
        mode_(settings.mode),
        orders_{pace::Order(longest_), pace::Order(longest_), pace::Order(longest_), pace::Order(longest_)} {}

  /// Collective number `number` (0, 1, ...) of the communicator is about to begin on this thread.
  void enter(std::uint32_t comm, std::uint64_t number) noexcept;

 private:
  [[nodiscard]] pace::Order* order_of(std::uint32_t comm) noexcept;
  void hold(const pace::Order& order, std::uint32_t comm, std::uint64_t number) noexcept;

  PaceWorld world_;
  Duration longest_;
  pace::Mode mode_;
  std::atomic<std::uint32_t> comms_[kGroups] = {};  // 0 = free
  pace::Order orders_[kGroups];
};

}  // namespace cox::guest
