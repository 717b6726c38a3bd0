// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whose turn it is to change what phases.cpp knows.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

namespace cox::guest::torch {

/// What a turn does takes less than a microsecond, so others wait for it, also where whoever has it was put aside for a while;
/// not for ever, and in hooks of gradients not at all. Threads: any; not from within itself.
/// Held by: e2e/torch_phases
class Turn {
 public:
  enum class Wait : std::uint8_t { None, Patient };

  explicit Turn(Wait wait = Wait::Patient) noexcept {
    mine_ = !is_taken.exchange(true, std::memory_order_acquire);
    if (wait == Wait::None) return;
    for (int tries = 0; tries < kTries && !mine_; ++tries) {
      if (tries >= kTries / 2) sched_yield();
      mine_ = !is_taken.exchange(true, std::memory_order_acquire);
    }
  }
  ~Turn() {
    if (mine_) is_taken.store(false, std::memory_order_release);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  explicit operator bool() const noexcept { return mine_; }

  /// In a child of fork one that was under way is nobody's.
  static void forget() noexcept { is_taken.store(false); }

 private:
  static constexpr int kTries = 2000;
  static inline std::atomic<bool> is_taken{false};
  bool mine_ = false;
};

}  // namespace cox::guest::torch
