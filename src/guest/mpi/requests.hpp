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
struct RequestFacts {
  std::uintptr_t comm_handle = 0;
  std::uint64_t bytes = 0;
  std::uint64_t started = 0;  ///< of a message: clock ticks
  std::uint32_t comm = 0;     ///< local number
  std::uint32_t seq = 0;      ///< of the collective that is under way; of a message: its number
  std::uint32_t aux = 0;      ///< root or element size; of a message: the peer
  std::uint16_t flags = 0;
  std::uint8_t op = 0;  ///< model::Collective; of a message: trace::PeerKind
  bool message = false;
  bool persistent = false;
  bool active = false;  ///< of a persistent operation: started, and not known to be complete
};

struct Request : RequestFacts {
  std::atomic<std::uintptr_t> handle{0};
  /// Twice how often the slot was filled, plus 1 while a call that may complete it is under way.
  std::atomic<std::uint32_t> turn{0};
};

/// A request that is being completed: taken out of the table until it is known whether that succeeded.
struct Claim {
  Request* slot;
  std::uint32_t turn;
  std::uint32_t position;  ///< in the list that the program gave
  RequestFacts facts;
};

/// Fixed open-addressing table, for the few requests that are not plain messages. A request for which there
/// is no room is not tracked: its completion then counts as a message's. Threads: any; lookups take no lock.
///
/// A library may give a handle out again while the call that completed it has not returned, so an entry is
/// claimed before that call: for other threads it is not there, and what they put under the handle stays.
/// Held by: completion_test.cpp, tests/e2e/threads_test.py
class RequestTable {
 public:
  [[nodiscard]] bool empty() const noexcept { return count_.load(std::memory_order_relaxed) == 0; }

  /// What is under a handle and not claimed.
  [[nodiscard]] Request* find(std::uintptr_t handle) noexcept {
    Request* slot = slot_of(handle);
    return slot != nullptr && (slot->turn.load(std::memory_order_relaxed) & 1) == 0 ? slot : nullptr;
  }

  /// Takes a collective's request out. False where none is under the handle, and of one that nobody started: nothing
  /// is waited for.
  bool claim(std::uintptr_t handle, Claim& claim) noexcept {
    Request* slot = find(handle);
    if (slot == nullptr || slot->message || (slot->persistent && !slot->active)) return false;
    claim.slot = slot;
    claim.facts = *slot;
    claim.turn = slot->turn.load(std::memory_order_relaxed) | 1;
    slot->turn.store(claim.turn, std::memory_order_relaxed);  // the library orders it before a new owner
    return true;
  }
  /// Puts it back: it is persistent, and complete.
  static void put_back_complete(const Claim& claim) noexcept {
    if (claim.slot->turn.load(std::memory_order_relaxed) == claim.turn) claim.slot->active = false;
    put_back(claim);
  }
  /// Puts it back: it is not complete.
  static void put_back(const Claim& claim) noexcept {
    std::uint32_t turn = claim.turn;
    claim.slot->turn.compare_exchange_strong(turn, claim.turn & ~1U, std::memory_order_relaxed);
  }
  /// A persistent message is complete, or was not started: nothing waits for it until `MPI_Start`.
  void rest(std::uintptr_t handle) noexcept {
    Request* slot = find(handle);
    if (slot != nullptr && slot->persistent) slot->active = false;
  }
  /// It is complete and gone.
  void drop(const Claim& claim) noexcept {
    const Lock lock(lock_);
    if (claim.slot->turn.load(std::memory_order_relaxed) != claim.turn) return;  // another request's by now
    claim.slot->turn.store(claim.turn + 1, std::memory_order_relaxed);
    clear(*claim.slot);
  }

  /// Puts what `fill(RequestFacts&)` tells under a handle, in place of what was there.
  template <class Fill>
  void put(std::uintptr_t handle, Fill fill) noexcept {
    if (handle <= kErased) return;
    const Lock lock(lock_);
    Request* slot = slot_of(handle);
    for (std::size_t i = 0; slot == nullptr && i < kProbe; ++i) {
      Request& candidate = slots_[(hash(handle) + i) % kSlots];
      if (candidate.handle.load(std::memory_order_relaxed) <= kErased) slot = &candidate;
    }
    if (slot == nullptr) return;
    if (slot->handle.load(std::memory_order_relaxed) != handle)
      count_.fetch_add(1, std::memory_order_relaxed);
    fill(static_cast<RequestFacts&>(*slot));
    slot->turn.store((slot->turn.load(std::memory_order_relaxed) | 1) + 1, std::memory_order_relaxed);
    slot->handle.store(handle, std::memory_order_release);
  }

  void erase(std::uintptr_t handle) noexcept {
    const Lock lock(lock_);
    if (Request* slot = slot_of(handle)) clear(*slot);
  }

 private:
  static constexpr std::size_t kSlots = 4096;
  static constexpr std::size_t kProbe = 64;
  static constexpr std::uintptr_t kEmpty = 0;
  static constexpr std::uintptr_t kErased = 1;  // never a handle of a live request

  class Lock {
   public:
    explicit Lock(std::atomic<bool>& held) noexcept : held_(held) {
      while (held_.exchange(true, std::memory_order_acquire)) sched_yield();
    }
    ~Lock() { held_.store(false, std::memory_order_release); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    std::atomic<bool>& held_;
  };

  static std::size_t hash(std::uintptr_t handle) noexcept {
    return static_cast<std::size_t>(handle * 0x9e3779b97f4a7c15 >> 40);
  }
  Request* slot_of(std::uintptr_t handle) noexcept {
    if (empty() || handle <= kErased) return nullptr;
    for (std::size_t i = 0; i < kProbe; ++i) {
      Request& slot = slots_[(hash(handle) + i) % kSlots];
      const std::uintptr_t have = slot.handle.load(std::memory_order_acquire);
      if (have == handle) return &slot;
      if (have == kEmpty) return nullptr;
    }
    return nullptr;
  }
  void clear(Request& slot) noexcept {
    const auto next = (static_cast<std::size_t>(&slot - slots_) + 1) % kSlots;
    const bool last = slots_[next].handle.load(std::memory_order_relaxed) == kEmpty;
    slot.handle.store(last ? kEmpty : kErased, std::memory_order_release);
    count_.fetch_sub(1, std::memory_order_relaxed);
  }

  Request slots_[kSlots];
  std::atomic<std::uint32_t> count_{0};
  std::atomic<bool> lock_{false};
};

/// Peers and numbers of messages under way, by request. One place per hash: a message whose place another one takes is
/// not named, and that is all. Threads: any; takes no lock.
class MessageTable {
 public:
  struct Message {
    std::uint64_t peer;     ///< see `key`
    std::uint64_t number;   ///< see `number`
    std::uint64_t started;  ///< clock ticks
  };
  /// A communicator's local number, and a rank in it.
  static constexpr std::uint64_t key(std::uint32_t comm, std::uint32_t rank) noexcept {
    return std::uint64_t{comm} << 32 | rank;
  }
  /// A message's number from 1 (0 = not known), per peer and direction, twice; plus 1 where it is sent.
  static constexpr std::uint64_t number(std::uint32_t number, bool sent) noexcept {
    return std::uint64_t{number} << 1 | (sent ? 1 : 0);
  }
  /// Whether there ever was one.
  [[nodiscard]] bool in_use() const noexcept { return in_use_.load(std::memory_order_relaxed); }

  void put(std::uintptr_t handle, const Message& m) noexcept {
    Entry& e = entry(handle);
    e.handle.store(0, std::memory_order_relaxed);
    e.peer.store(m.peer, std::memory_order_release);
    e.number.store(m.number, std::memory_order_release);
    e.started.store(m.started, std::memory_order_release);
    e.handle.store(handle, std::memory_order_release);
    if (!in_use()) in_use_.store(true, std::memory_order_relaxed);
  }
  [[nodiscard]] bool find(std::uintptr_t handle, Message& m) const noexcept {
    const Entry& e = entry(handle);
    if (handle == 0 || e.handle.load(std::memory_order_acquire) != handle) return false;
    m.peer = e.peer.load(std::memory_order_acquire);
    m.number = e.number.load(std::memory_order_acquire);
    m.started = e.started.load(std::memory_order_acquire);
    return e.handle.load(std::memory_order_relaxed) == handle;
  }
  void erase(std::uintptr_t handle) noexcept {
    Entry& e = entry(handle);
    if (e.handle.load(std::memory_order_relaxed) == handle) e.handle.store(0, std::memory_order_relaxed);
  }

 private:
  struct Entry {
    std::atomic<std::uintptr_t> handle{0};
    std::atomic<std::uint64_t> peer{0};
    std::atomic<std::uint64_t> number{0};
    std::atomic<std::uint64_t> started{0};
  };
  static constexpr std::size_t kEntries = 4096;
  static constexpr int kShift = 64 - 12;
  [[nodiscard]] Entry& entry(std::uintptr_t handle) noexcept {
    return entries_[handle * 0x9e3779b97f4a7c15 >> kShift];
  }
  [[nodiscard]] const Entry& entry(std::uintptr_t handle) const noexcept {
    return entries_[handle * 0x9e3779b97f4a7c15 >> kShift];
  }

  Entry entries_[kEntries];
  std::atomic<bool> in_use_{false};
};

}  // namespace cox::guest
