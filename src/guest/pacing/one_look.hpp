// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a process looks up once, whichever of its threads comes first. Guest code: libc only.
#pragma once

#include <sched.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <ctime>

namespace cox::guest {

/// One look: who comes first takes it, the others wait until it is over.
///
/// In a child of a fork that came in the middle nobody is left to end it. There it counts as over, with what
/// was found until then; so what is looked up must be usable at any moment, as null or as nothing. The state
/// is the process that looks, so that this needs no handler and has no gap.
/// Threads: any; not from within itself. Cost: one load once it is over.
/// Held by: src/guest/pacing/one_look_test.cpp
class OneLook {
 public:
  template <class Find>
  void take(Find find) noexcept {
    if (is_taken(find)) return;
    while (!is_over()) sched_yield();
  }

  /// The same, but false where another thread has looked for half a second: it may wait for what this one holds (the loader's
  /// lock, in a constructor).
  template <class Find>
  [[nodiscard]] bool take_soon(Find find) noexcept {
    if (is_taken(find)) return true;
    constexpr timespec kNap{.tv_sec = 0, .tv_nsec = 1'000'000};
    for (int naps = 0; naps < 500; ++naps) {
      if (is_over()) return true;
      nanosleep(&kNap, nullptr);
    }
    return is_over();
  }

 private:
  template <class Find>
  bool is_taken(Find& find) noexcept {
    if (state_.load(std::memory_order_acquire) == kOver) return true;
    pid_t nobody = 0;
    if (!state_.compare_exchange_strong(nobody, getpid(), std::memory_order_acq_rel)) return false;
    find();
    state_.store(kOver, std::memory_order_release);
    return true;
  }

  static constexpr pid_t kOver = -1;

  bool is_over() noexcept {
    const pid_t who = state_.load(std::memory_order_acquire);
    if (who == kOver) return true;
    if (who == getpid()) return false;
    state_.store(kOver, std::memory_order_release);
    return true;
  }

  std::atomic<pid_t> state_{0};  // 0: nobody has looked
};

}  // namespace cox::guest
