// SPDX-License-Identifier: Apache-2.0
/// \file
/// The writer that lives inside somebody's process: fixed-size records into reserved,
/// mapped chunks of one file.
///
/// Use when: recording events in a guest object. Needs libc only; nothing here throws, prints, allocates or
///           locks on the hot path, and any trouble switches recording off and is counted in the file.
/// Not when: writing a Run in a tool; see cox/trace/compact.hpp.
/// Format:   cox/trace/raw_format.hpp, docs/reference/run-format.md.
/// Threads:  every thread writes to a chunk of its own; the file is shared.
/// Cost:     `begin` + `end` are two clock reads and about ten stores; bench/hook_bench.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cox/trace/raw_format.hpp"

namespace cox::guest {

/// What is known about the process when recording begins. Pointers are copied, never kept; null = not known.
struct Identity {
  std::int32_t rank = -1;
  std::int32_t world_size = -1;
  std::int32_t local_rank = -1;
  std::int32_t local_size = -1;  ///< ranks on this node
  std::int32_t node = -1;        ///< the launcher's number of the node
  std::int32_t attempt = 0;
  const char* job = nullptr;
  const char* launcher = nullptr;
  const char* library = nullptr;
};

/// Least chunks of a file, and what they come to: a lower limit is raised to that.
inline constexpr std::uint32_t kLeastChunks = 32;
inline constexpr std::uint64_t kLeastFileBytes =
    trace::kHeaderBytes + std::uint64_t{kLeastChunks} * trace::kDefaultChunkBytes;
/// What a file takes on disk when it is begun.
inline constexpr std::uint64_t kFirstFileBytes = trace::kHeaderBytes + trace::kDefaultChunkBytes;

struct WriterOptions {
  const char* dir = nullptr;              ///< folder that exists already
  std::uint64_t max_bytes = 256'000'000;  ///< of the file; at least kLeastChunks
  std::uint32_t chunk_bytes = trace::kDefaultChunkBytes;
  bool group_may_read = false;   ///< the file: its owner alone may, else
  bool folder_per_host = false;  ///< the file goes into a folder of this host below `dir`
  /// of many `cox observe` the one that started this process: ends the file's name
  std::int64_t observer = 0;
  /// a machine that goes down loses so much; 0 = what the kernel has not written
  std::uint64_t sync_seconds = 1;
  /// `3,7-8`: where the writer's own thread runs; null = where the process may
  const char* keeper_cpus = nullptr;
  bool force_monotonic = false;  ///< never use the timestamp counter
  /// Largest share of one CPU that recording may take, as a ratio; beyond it for two seconds it stops.
  double max_overhead = 0.05;
  /// Called once when recording switches itself off, on any thread: the place to take the hooks out.
  void (*when_off)() noexcept = nullptr;
  /// Asked by the keeper, never by a thread of the job, a few times a second and only of one process of a node: whether
  /// somebody wants recording to end.
  bool (*told_to_stop)() noexcept = nullptr;
};

/// Begins recording in this process; later calls do nothing. False where it is off (and stays off).
/// Not signal-safe; allocates no heap, makes one file, one mapping and one thread.
bool open(const WriterOptions& options, const Identity& identity) noexcept;

/// Whether `open` succeeded and nothing switched recording off since.
[[nodiscard]] bool active() noexcept;

/// Whether recording was tried and stopped for good (not: ended in order).
[[nodiscard]] bool switched_off() noexcept;

/// Takes a last clock reading and marks the file as closed in order. Later events are not recorded.
void close() noexcept;

/// Learns the rank late (a launcher told nothing, the library does). Ignored once a rank is known.
void set_rank(std::int32_t rank, std::int32_t world_size) noexcept;
/// Replaces the text that says what was hooked.
void set_library(const char* text) noexcept;

/// Opens a record: stored before the call, so that a call that never returns stays visible. Never null.
trace::RawRecord* begin(trace::EventKind kind, std::uint8_t op, std::uint16_t flags, std::uint32_t comm,
                        std::uint32_t seq, std::uint64_t bytes, std::uint32_t aux) noexcept;
/// Completes it, on any thread.
void end(trace::RawRecord* record) noexcept;
/// Whether a record is part of the file. One that is not (recording is off, no room) lies in the thread that
/// began it and goes with it: it must not be kept beyond a call.
[[nodiscard]] bool is_stored(const trace::RawRecord* record) noexcept;
/// Takes back the record that `begin` gave last on this thread (no other `begin` since on it).
void retract(trace::RawRecord* record) noexcept;
/// Completes a record, or takes it back where it lasted less than `shortest_ns` and is still this thread's
/// last. Returns whether it stays.
bool end_if_long(trace::RawRecord* record, std::uint64_t shortest_ns) noexcept;
/// Adds calls that left no record of their own to the count from which the writer tells its own cost.
void count_calls(std::uint64_t calls) noexcept;
/// Where calls that are only counted add up in the file, by trace::Unobserved; null where nothing is recorded.
/// Stays valid while the process lives.
[[nodiscard]] std::uint64_t* unobserved_calls() noexcept;
/// A record without duration: a step mark.
void instant(trace::EventKind kind, std::uint8_t op, std::uint16_t flags, std::uint64_t value) noexcept;

/// Records a communicator and returns its local number (from 1), 0 where there is no room.
/// `members` are world ranks and may be null with `member_count` 0. Off the hot path: takes a spin lock.
std::uint32_t define_communicator(std::uint64_t identity, std::int32_t size, std::int32_t my_rank,
                                  const std::int32_t* members, std::uint32_t member_count,
                                  const char* name) noexcept;
/// Records a text once per text (by address): something that could not be done.
void note(const char* text) noexcept;
/// Records facts: lines `path<TAB>value`. Off the hot path: takes a spin lock.
void add_locality(const char* lines, std::size_t bytes) noexcept;

/// Linux thread id of the caller, cached.
[[nodiscard]] std::uint32_t thread_id() noexcept;
/// Current reading of the recording clock.
[[nodiscard]] std::uint64_t ticks() noexcept;
/// A span of that clock as time, as of that estimate; no floating point. 0 before the file was opened.
[[nodiscard]] std::uint64_t nanoseconds(std::uint64_t ticks) noexcept;
/// First estimate of a tick's length, from when the file was opened; 0 before.
/// For decisions made inside the process.
[[nodiscard]] double picoseconds_per_tick() noexcept;

/// Identity of a group: equal on all members whatever order they list it in.
/// Formula: FNV-1a over the sorted ranks, then over `occurrence` (how many groups of exactly these ranks came
/// before). Sorts `ranks` in place. Never 0. Held by: src/guest/writer/writer_test.cpp
[[nodiscard]] std::uint64_t group_identity(std::int32_t* ranks, std::size_t count,
                                           std::uint32_t occurrence) noexcept;

}  // namespace cox::guest
