// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the parts of the guest's writer share: one state per process. Private to this folder.
///
/// writer.cpp is the hot path and the interface, memory.cpp the chunks that events are written to, keeper.cpp
/// the thread that works ahead, save.cpp what it writes into the file, file.cpp the file and its header.
/// docs/design/0013. libc only.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "cox/guest/writer.hpp"

#include "guest/writer/budget.hpp"
#include "guest/writer/own_arithmetic.hpp"
#include "guest/writer/threads.hpp"
#if defined(COX_TEST_GUEST)
#include "support/guest_test_clock.hpp"
#endif

#if defined(__SANITIZE_THREAD__)
extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);  // of the thread sanitizer
void AnnotateIgnoreReadsEnd(const char* file, int line);
}
#endif

namespace cox::guest {

using namespace trace;  // the Run format: what is written here is nothing else

inline constexpr std::uint32_t kMostSlots = 256;  ///< chunks in memory; a multiple of 64
/// made ready at a time, and kept ready beyond those in use
inline constexpr std::uint32_t kSlotsAhead = 16;
inline constexpr int kTickShift = 32;

/// Closed: the program ended in order; the keeper says so in the file.
enum class Phase : int { Off = 0, Opening = 1, On = 2, Dead = 3, Closed = 4 };

struct Global {
  std::atomic<Phase> phase{Phase::Off};
  std::atomic<pid_t> opener{0};  // the process that opens it or has
  std::atomic<bool> use_tsc{false};
  bool wants_tsc = false;
  std::atomic<bool> off{false};
  RawHeader* header = nullptr;
  std::byte* base = nullptr;  // of the memory; slot i lies at kHeaderBytes + i * chunk_bytes
  std::uint64_t mapped_bytes = 0;
  std::uint32_t slots = 0;                    // that there is address space for
  std::atomic<std::uint32_t> ready_slots{0};  // that have memory behind them
  std::atomic<std::uint64_t> free_slots[kMostSlots / 64]{};
  std::atomic<std::uint32_t> claims{0};        // of slots, since the keeper looked last
  std::atomic<std::uint32_t> wake_after{0};    // so many claims wake the keeper before its time
  std::atomic<std::uint32_t> nudge{0};         // futex: the keeper is wanted now
  std::atomic<std::uint32_t> keeper_ended{1};  // futex: nobody writes to the file any more
  std::atomic<bool> is_syncing{false};         // the keeper waits for the disk
  int fd = -1;                                 // of the file, in the keeper's own table
  std::uint64_t calls = 0;                     // of the keeper alone: that left a record or took it back
  pid_t pid = 0;
  std::atomic<bool> growing{false};
  std::atomic<bool> meta_lock{false};
  ChunkHeader* meta_chunk = nullptr;
  ChunkHeader* sample_chunk = nullptr;  // of the keeper alone
  std::atomic<std::uint32_t> communicators{0};
  std::atomic<std::uint64_t> uncounted_calls{0};  // that left no record of their own
  const Threads* threads = nullptr;
  pthread_key_t thread_end{};
  std::uint64_t pair_every = 1;  // seconds between clock pairs; doubles as pairs are thinned
  std::uint64_t sync_seconds =
      1;                       // after so many the disk holds what was written; 0 = the kernel sees to that
  char keeper_cpus[256] = {};  // that the keeper is to run on; empty = where the process may
  bool speaks = false;         // for its node, as of the last second
  bool lingers = false;        // the keeper, once it has told its node to stop
  double ps_per_tick = 0;
  std::uint64_t ns_per_tick = 0;  // times 2^kTickShift
  double max_overhead = OverheadBudget::kDefaultLimit;
  void (*when_off)() noexcept = nullptr;
  bool (*told_to_stop)() noexcept = nullptr;
};
/// Hidden in every guest: the objects that hold it are built with hidden visibility.
extern Global g;

template <class T>
std::atomic_ref<T> shared(T& field) {
  return std::atomic_ref<T>(field);
}

/// While this lives the keeper reads what other threads may be writing, and no checker of races minds: each word is whole, and
/// what is not settled yet is read and written again.
class ReadsUnsettled {
 public:
#if defined(__SANITIZE_THREAD__)
  ReadsUnsettled() noexcept { AnnotateIgnoreReadsBegin(__FILE__, __LINE__); }
  ~ReadsUnsettled() { AnnotateIgnoreReadsEnd(__FILE__, __LINE__); }
#else
  ReadsUnsettled() noexcept {}
  ~ReadsUnsettled() {}
#endif
  ReadsUnsettled(const ReadsUnsettled&) = delete;
  ReadsUnsettled& operator=(const ReadsUnsettled&) = delete;
};

inline std::int64_t clock_ns(clockid_t id) noexcept {
  timespec t{};
  clock_gettime(id, &t);
  const std::int64_t ns = std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
#if defined(COX_TEST_GUEST)
  if (id == CLOCK_MONOTONIC) return test_clock::monotonic(ns);
#endif
  return ns;
}

inline std::uint64_t now() noexcept {
#if defined(__x86_64__)
  if (g.use_tsc.load(std::memory_order_relaxed)) [[likely]] {
#if defined(COX_TEST_GUEST)
    return test_clock::counter(__rdtsc());
#else
    return __rdtsc();
#endif
  }
#endif
  return static_cast<std::uint64_t>(clock_ns(CLOCK_MONOTONIC));
}

template <std::size_t N>
inline void set_text(char (&field)[N], const char* text) noexcept {
  memset(field, 0, N);
  if (text != nullptr) strncpy(field, text, N - 1);
}

inline ChunkHeader* chunk_at(std::uint64_t index) noexcept {
  return reinterpret_cast<ChunkHeader*>(g.base + kHeaderBytes + index * g.header->chunk_bytes);
}

inline std::uint32_t records_per_chunk() noexcept {
  return (g.header->chunk_bytes - static_cast<std::uint32_t>(sizeof(ChunkHeader))) / sizeof(RawRecord);
}

/// Records that were taken back out of a chunk: counted in memory, zero in the file.
inline std::atomic_ref<std::uint64_t> retracted_in(ChunkHeader& chunk) noexcept {
  static_assert(offsetof(ChunkHeader, reserved) % alignof(std::uint64_t) == 0);
  return shared(*reinterpret_cast<std::uint64_t*>(chunk.reserved));
}

/// A thread is not cancelled while this lives: the slow paths hold locks and call functions
/// that are cancellation points.
class NoCancel {
 public:
  NoCancel() noexcept { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NoCancel() { pthread_setcancelstate(before_, nullptr); }
  NoCancel(const NoCancel&) = delete;
  NoCancel& operator=(const NoCancel&) = delete;

 private:
  int before_ = 0;
};

/// Nor is it interrupted: a handler of the program's that records an event would wait for a lock that this thread holds, and one
/// that jumps out of it would keep the lock for ever. Faults still come. Two system calls.
class Undisturbed {
 public:
  Undisturbed() noexcept {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
      sigdelset(&all, fault);
    blocked_ = sigprocmask(SIG_BLOCK, &all, &before_) == 0;
  }
  ~Undisturbed() {
    if (blocked_) sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;

 private:
  NoCancel whole_{};
  sigset_t before_{};
  bool blocked_ = false;
};

/// Ends recording for good and takes the hooks out.
void switch_off(std::uint32_t reason) noexcept;

// memory.cpp
/// Memory for header and slots; false and errno where there is none.
[[nodiscard]] bool start_memory(const WriterOptions& options) noexcept;
/// Puts memory behind the first `wanted` slots, so that no event takes a page fault. Callers are undisturbed.
void make_ready(std::uint32_t wanted) noexcept;
/// A chunk for the caller alone, or null where all memory is in use.
[[nodiscard]] ChunkHeader* claim_chunk(ChunkKind kind, std::uint32_t tid) noexcept;
/// Gives a slot back; nobody may hold a pointer into it.
void release_slot(std::uint32_t slot) noexcept;
/// Slots in use, as bits.
[[nodiscard]] std::uint64_t used_slots(std::uint32_t word) noexcept;

// file.cpp
/// Header and file; where that fails nothing is left on disk and errno says why. Opens descriptors.
[[nodiscard]] bool start_file(const WriterOptions& options, const Identity& identity) noexcept;
/// The folder that the file is in, and that of the Run: the same, but for jobs of several hosts.
[[nodiscard]] const char* own_folder() noexcept;
[[nodiscard]] const char* run_folder() noexcept;
/// Leaves a file that says why nothing is recorded. Opens descriptors in the caller's table, and closes them.
void leave_word(const WriterOptions& options, const Identity& identity, const char* text,
                int reason) noexcept;
/// All of it at this place of the file; false and errno where it cannot be written.
[[nodiscard]] bool put(std::uint64_t at, const void* from, std::size_t bytes) noexcept;

// save.cpp
/// Room for what the file holds where; false where there is no memory.
[[nodiscard]] bool start_saving() noexcept;
/// Writes what has changed since the last time and frees slots; false and errno where the file cannot take it.
[[nodiscard]] bool save() noexcept;
/// Has the disk hold what was saved, should the machine go down; false and errno where it says that it cannot: then what was
/// written before may be lost, too.
[[nodiscard]] bool sync_file() noexcept;
/// Events in memory that no file holds.
[[nodiscard]] std::uint64_t unsaved_records() noexcept;

// keeper.cpp
/// Starts the thread, which makes the file and keeps it, and waits until it is there, ten seconds at most. Else an errno; `text`
/// says it in words where it is the thread that could not be had. Once per process: what the options point to must stay.
[[nodiscard]] int start_keeper(const WriterOptions& options, const Identity& identity,
                               const char*& text) noexcept;
void wake_keeper() noexcept;
/// Waits until everything is in the file: two seconds at most, ten where the disk is being asked for what was written before
/// (`e2e/storage_faults`, disk_answers_late).
void await_keeper() noexcept;
/// One more reading of the clocks in the header.
void add_clock_pair() noexcept;
[[nodiscard]] ClockPair read_clocks() noexcept;

// writer.cpp
/// The timestamp counter where it may be used. Opens a descriptor.
void choose_clock() noexcept;
/// Own cost per event, in ticks.
[[nodiscard]] std::uint64_t measure_overhead() noexcept;
/// The last note of all, for which there always is room.
void last_note(const char* text) noexcept;

}  // namespace cox::guest
