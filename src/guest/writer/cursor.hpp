// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where a thread records next, and how it takes a record when a signal handler of its own may record in the middle of that.
#pragma once

#include <cstddef>
#include <cstdint>

#include "guest/writer/state.hpp"

namespace cox::guest {

/// A thread's place in its chunk. A handler on the same thread may come between any two instructions, and records or takes
/// records back itself; it has returned before the thread goes on (or has jumped away: see kMostRefused). So fields are
/// volatile, read again where it matters, and the one store that takes a record is an exchange.
struct ThreadCursor {
  RawRecord* volatile next = nullptr;  ///< free, or `end`
  RawRecord* volatile end = nullptr;   ///< of the chunk
  RawRecord* volatile done =
      nullptr;  ///< all before it are counted in the chunk; `next` but while one is being written
  ChunkHeader* volatile chunk = nullptr;
  std::uint32_t tid = 0;
  std::uint32_t skip = 0;     ///< events to drop before room is looked for again
  std::uint32_t refused = 0;  ///< events dropped because the chunk was full and one in it was being written
  RawRecord spill{};          ///< written to while recording is off or there is no room
};

/// A handler finds the chunk full while its thread writes to it: it waits for nobody and drops what it has to record. After so
/// many in a row the thread has been left for good (the handler jumped out of it, or never ends), and its chunk is given up as it
/// is, never to be used again.
/// Held by: GuestHandlers.AHandlerThatJumpsAwayLosesLittle
inline constexpr std::uint32_t kMostRefused = 4096;

struct Taken {
  RawRecord* record;
  ChunkHeader* chunk;
};

/// `from` becomes `to` unless it is another by now; false then. One instruction, so that a handler on this thread comes before it
/// or after it; not a thing that other CPUs respect, which would cost several times as much. No other thread writes to `from`.
inline bool replace(RawRecord* volatile& from, RawRecord* expected, RawRecord* to) noexcept {
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
  bool is_replaced = false;
  __asm__ volatile("cmpxchgq %[to], %[from]"
                   : "=@ccz"(is_replaced), [from] "+m"(from), "+a"(expected)
                   : [to] "r"(to)
                   : "memory");
  return is_replaced;
#else
  return __atomic_compare_exchange_n(&from, &expected, to, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
#endif
}

/// The next record of the chunk, for the caller alone; no record where there is no room.
inline Taken take(ThreadCursor& c) noexcept {
  for (;;) {
    RawRecord* const next =
        c.next;  // before the others: if they are of a later chunk, it is no longer `next`
    RawRecord* const end = c.end;
    ChunkHeader* const chunk = c.chunk;
    if (next == end) return {nullptr, nullptr};
    if (replace(c.next, next, next + 1)) return {next, chunk};
  }
}

/// Counts in `chunk` what has been taken so far, all of which is written: handlers that came in between have returned.
/// A handler that comes into the middle counts nothing of its own before `done` is what it took, and leaves it to this loop.
inline void settle(ThreadCursor& c, ChunkHeader* chunk) noexcept {
  auto* const first = reinterpret_cast<RawRecord*>(chunk + 1);
  for (;;) {
    RawRecord* const next = c.next;  // before the chunk, whose it then is
    if (c.chunk != chunk) return;
    shared(chunk->committed).store(static_cast<std::uint64_t>(next - first), std::memory_order_release);
    c.done = next;
    if (c.next == next) return;
  }
}

/// Takes the newest record of the thread back; false where it is not that, or not counted yet.
inline bool take_back(ThreadCursor& c, RawRecord* r) noexcept {
  ChunkHeader* const chunk = c.chunk;
  if (chunk == nullptr || c.done != r + 1 || !replace(c.next, r + 1, r)) return false;
  retracted_in(*chunk).store(retracted_in(*chunk).load(std::memory_order_relaxed) + 1,
                             std::memory_order_relaxed);
  settle(c, chunk);
  return true;
}

}  // namespace cox::guest
