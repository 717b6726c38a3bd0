// SPDX-License-Identifier: Apache-2.0
/// \file
/// Requests under way that somebody will want to see completed, or started again.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace cox::guest {

/// What a request stands for: one collective, or a persistent operation that `MPI_Start` begins anew.
struct Request {
  std::atomic<std::uintptr_t> handle{0};
  std::uintptr_t comm_handle = 0;
  std::uint64_t bytes = 0;
  std::uint32_t comm = 0;  ///< local number
  std::uint32_t seq = 0;   ///< of the collective that is under way
  std::uint32_t aux = 0;   ///< root or element size; of a message: the peer
  std::uint16_t flags = 0;
  std::uint8_t op = 0;  ///< model::Collective; of a message: trace::PeerKind
  bool message = false;
  bool persistent = false;
};

/// Fixed open-addressing table, for the few requests that are not plain messages. A request for which there
/// is no room is not tracked: its completion then counts as a message's. Threads: any; lookups take no lock.
class RequestTable {
 public:
  [[nodiscard]] bool empty() const noexcept { return count_.load(std::memory_order_relaxed) == 0; }

  [[nodiscard]] Request* find(std::uintptr_t handle) noexcept {
    if (empty() || handle <= kErased) return nullptr;
    for (std::size_t i = 0; i < kProbe; ++i) {
      Request& slot = slots_[(hash(handle) + i) % kSlots];
      const std::uintptr_t have = slot.handle.load(std::memory_order_acquire);
      if (have == handle) return &slot;
      if (have == kEmpty) return nullptr;
    }
    return nullptr;
  }

  /// Puts what `fill(Request&)` tells under a handle, in place of what was there.
  template <class Fill>
  void put(std::uintptr_t handle, Fill fill) noexcept {
    if (handle <= kErased) return;
    while (lock_.exchange(true, std::memory_order_acquire)) sched_yield();
    Request* slot = find(handle);
    for (std::size_t i = 0; slot == nullptr && i < kProbe; ++i) {
      Request& candidate = slots_[(hash(handle) + i) % kSlots];
      if (candidate.handle.load(std::memory_order_relaxed) <= kErased) slot = &candidate;
    }
    if (slot != nullptr) {
      if (slot->handle.load(std::memory_order_relaxed) != handle)
        count_.fetch_add(1, std::memory_order_relaxed);
      fill(*slot);
      slot->handle.store(handle, std::memory_order_release);
    }
    lock_.store(false, std::memory_order_release);
  }

  void erase(std::uintptr_t handle) noexcept {
    while (lock_.exchange(true, std::memory_order_acquire)) sched_yield();
    if (Request* slot = find(handle)) {
      const auto next = (static_cast<std::size_t>(slot - slots_) + 1) % kSlots;
      const bool last = slots_[next].handle.load(std::memory_order_relaxed) == kEmpty;
      slot->handle.store(last ? kEmpty : kErased, std::memory_order_release);
      count_.fetch_sub(1, std::memory_order_relaxed);
    }
    lock_.store(false, std::memory_order_release);
  }

 private:
  static constexpr std::size_t kSlots = 4096;
  static constexpr std::size_t kProbe = 64;
  static constexpr std::uintptr_t kEmpty = 0;
  static constexpr std::uintptr_t kErased = 1;  // never a handle of a live request
  static std::size_t hash(std::uintptr_t handle) noexcept {
    return static_cast<std::size_t>(handle * 0x9e3779b97f4a7c15 >> 40);
  }
  Request slots_[kSlots];
  std::atomic<std::uint32_t> count_{0};
  std::atomic<bool> lock_{false};
};

}  // namespace cox::guest
