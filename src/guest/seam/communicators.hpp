// SPDX-License-Identifier: Apache-2.0
/// \file
/// From a library's handle (a pointer or an integer) to our number and sequence
/// of a communicator, inside a guest.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace cox::guest {

/// What is known of a communicator in use. `seq` and `made` need no atomics: a communicator is used by one
/// thread at a time (MPI 3.1, 5.1). One that joins two groups (MPI's intercommunicator) has the members of
/// both, those of the group with the lowest rank of the job first.
struct CommFacts {
  std::uint32_t number = 0;  ///< of the Run format; 0 = could not be recorded
  std::uint32_t seq = 0;
  std::int32_t size = 0;
  std::int32_t rank = 0;          ///< own place among the members
  std::int32_t remote_size = 0;   ///< members of the other group; 0 = there is one group only
  std::int32_t remote_first = 0;  ///< place of its first member
  std::uint32_t made = 0;         ///< communicators made of it by all its members so far
  std::uint16_t flags = 0;        ///< trace::RecordFlag of each of its collectives
  std::uint64_t identity = 0;     ///< equal on all members; 0 = not known

  [[nodiscard]] bool joins_two() const noexcept { return remote_size != 0; }
  [[nodiscard]] std::int32_t own_size() const noexcept { return size - remote_size; }
  /// Members that ranks and lists of counts in a call stand for.
  [[nodiscard]] std::int32_t addressed() const noexcept { return joins_two() ? remote_size : size; }
};

struct alignas(64) Comm : CommFacts {
  std::atomic<std::uintptr_t> handle{0};
};

/// Fixed open-addressing table: lookups take no lock; insertion and removal are rare and take a spin lock.
///
/// A handle freed and given out again must be erased in between. Threads: any.
class CommTable {
 public:
  static constexpr std::size_t kSlots = 4096;

  [[nodiscard]] Comm* find(std::uintptr_t handle) noexcept {
    if (handle <= kErased) [[unlikely]]
      return nullptr;
    for (std::size_t i = 0; i < kProbe; ++i) {
      Comm& slot = slots_[(hash(handle) + i) % kSlots];
      if (slot.handle.load(std::memory_order_acquire) == handle) return &slot;
    }
    return nullptr;
  }

  /// A slot for a new handle, to be filled by `fill(Comm&)` before others see it;
  /// null where there is no room.
  template <class Fill>
  Comm* insert(std::uintptr_t handle, Fill fill) noexcept {
    if (handle <= kErased) return nullptr;
    while (lock_.exchange(true, std::memory_order_acquire)) sched_yield();
    Comm* result = find(handle);
    for (std::size_t i = 0; result == nullptr && i < kProbe; ++i) {
      Comm& slot = slots_[(hash(handle) + i) % kSlots];
      const std::uintptr_t have = slot.handle.load(std::memory_order_relaxed);
      if (have != kEmpty && have != kErased) continue;
      static_cast<CommFacts&>(slot) = {};
      fill(slot);
      slot.handle.store(handle, std::memory_order_release);
      result = &slot;
    }
    lock_.store(false, std::memory_order_release);
    return result;
  }

  void erase(std::uintptr_t handle) noexcept {
    if (Comm* comm = find(handle)) comm->handle.store(kErased, std::memory_order_release);
  }

  /// Erases it; false where it is not there, else what was known of it.
  bool take(std::uintptr_t handle, CommFacts& facts) noexcept {
    Comm* comm = find(handle);
    if (comm == nullptr) return false;
    facts = *comm;
    comm->handle.store(kErased, std::memory_order_release);
    return true;
  }

 private:
  static constexpr std::size_t kProbe = 64;
  static constexpr std::uintptr_t kEmpty = 0;
  // no library uses these two as a handle of a live communicator
  static constexpr std::uintptr_t kErased = 1;
  static std::size_t hash(std::uintptr_t handle) noexcept {
    return static_cast<std::size_t>(handle * 0x9e3779b97f4a7c15 >> 40);
  }
  Comm slots_[kSlots];
  std::atomic<bool> lock_{false};
};

/// Counts how often a set of ranks became a communicator: equal on all members, who make them in one order.
class Occurrences {
 public:
  /// There is no room for another set: members whose tables filled at different times would count differently, so the
  /// communicator is nobody's other half.
  static constexpr std::uint32_t kUnknown = 0xffffffff;

  std::uint32_t next(std::uint64_t set_identity) noexcept {
    for (Entry& e : entries_) {
      if (e.set == set_identity) return ++e.count;
      if (e.set != 0) continue;
      e = {set_identity, 0};
      return 0;
    }
    return kUnknown;
  }

 private:
  struct Entry {
    std::uint64_t set = 0;
    std::uint32_t count = 0;
  };
  Entry entries_[2048];
};

}  // namespace cox::guest
