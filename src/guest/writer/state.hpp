// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the parts of the guest's writer share: one state per process. Private to this folder.
///
/// writer.cpp is the hot path and the interface, file.cpp the file and its chunks, keeper.cpp the thread that
/// works ahead. libc only.
#pragma once

#include <pthread.h>
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
#if defined(COX_TEST_GUEST)
#include "support/guest_test_clock.hpp"
#endif

namespace cox::guest {

using namespace trace;  // the Run format: what is written here is nothing else

inline constexpr std::uint64_t kReserveAhead = 16;  ///< chunks kept ready beyond those in use

enum class Phase : int { Off = 0, Opening = 1, On = 2, Dead = 3 };

struct Global {
  std::atomic<Phase> phase{Phase::Off};
  std::atomic<bool> use_tsc{false};
  std::atomic<bool> off{false};
  RawHeader* header = nullptr;
  std::byte* base = nullptr;  // of the mapping; chunk i lies at kHeaderBytes + i * chunk_bytes
  std::uint64_t mapped_bytes = 0;
  int fd = -1;
  dev_t file_device = 0;
  ino_t file_inode = 0;
  pid_t pid = 0;
  std::atomic<bool> growing{false};
  std::atomic<bool> meta_lock{false};
  ChunkHeader* meta_chunk = nullptr;
  ChunkHeader* sample_chunk = nullptr;  // of the keeper alone
  std::atomic<std::uint32_t> communicators{0};
  std::atomic<std::uint64_t> uncounted_calls{0};  // that left no record of their own
  pthread_key_t thread_end{};
  std::uint64_t pair_every = 1;  // keeper periods between clock pairs; doubles as pairs are thinned
  double ps_per_tick = 0;
  double max_overhead = OverheadBudget::kDefaultLimit;
  void (*when_off)() noexcept = nullptr;
};
/// Hidden in every guest: the objects that hold it are built with hidden visibility.
extern Global g;

template <class T>
std::atomic_ref<T> shared(T& field) {
  return std::atomic_ref<T>(field);
}

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

/// Ends recording for good and takes the hooks out.
void switch_off(std::uint32_t reason) noexcept;

// file.cpp
/// The file, ready to write to; where that fails nothing is left on disk and errno says why.
[[nodiscard]] bool start_file(const WriterOptions& options, const Identity& identity) noexcept;
/// Extends the file so that `chunks` chunks lie on disk.
bool reserve(std::uint64_t chunks) noexcept;
/// A chunk for the caller alone, or null where there is no room.
[[nodiscard]] ChunkHeader* claim_chunk(ChunkKind kind, std::uint32_t tid) noexcept;

// keeper.cpp
void start_keeper() noexcept;
/// One more reading of the clocks in the header.
void add_clock_pair() noexcept;
[[nodiscard]] ClockPair read_clocks() noexcept;

// writer.cpp
/// Own cost per event, in ticks.
[[nodiscard]] std::uint64_t measure_overhead() noexcept;

}  // namespace cox::guest
