// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the preload object and a typed object (one per library ABI) say to each other. Private to the guest;
/// both are built and installed together, `kTypedAbi` refuses a pair that was not.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cox/guest/writer.hpp"
#include "cox/pace/iteration.hpp"

namespace cox::guest {

inline constexpr std::uint32_t kTypedAbi = 7;

/// The writer, as function pointers: a typed object links to nothing of ours.
struct WriterApi {
  bool (*open)(const Identity& identity) noexcept;
  void (*close)() noexcept;
  void (*set_rank)(std::int32_t rank, std::int32_t world_size) noexcept;
  void (*set_library)(const char* text) noexcept;
  trace::RawRecord* (*begin)(trace::EventKind kind, std::uint8_t op, std::uint16_t flags, std::uint32_t comm,
                             std::uint32_t seq, std::uint64_t bytes, std::uint32_t aux) noexcept;
  void (*end)(trace::RawRecord* record) noexcept;
  /// Whether it may be kept beyond the call that began it.
  bool (*is_stored)(const trace::RawRecord* record) noexcept;
  /// Takes back the record that `begin` gave last on this thread: the call turned out not to be worth one.
  void (*retract)(trace::RawRecord* record) noexcept;
  /// Completes it, or takes it back where it took less than `shortest_ns`. Returns whether it stays.
  bool (*end_if_long)(trace::RawRecord* record, std::uint64_t shortest_ns) noexcept;
  /// Current reading of the recording clock.
  std::uint64_t (*ticks)() noexcept;
  /// A span of that clock as time.
  std::uint64_t (*nanoseconds)(std::uint64_t ticks) noexcept;
  /// Calls that were counted without a record of their own: part of what recording costs.
  void (*count_calls)(std::uint64_t calls) noexcept;
  void (*instant)(trace::EventKind kind, std::uint8_t op, std::uint16_t flags, std::uint64_t value) noexcept;
  std::uint32_t (*define_communicator)(std::uint64_t identity, std::int32_t size, std::int32_t my_rank,
                                       const std::int32_t* members, std::uint32_t member_count,
                                       const char* name) noexcept;
  void (*note)(const char* text) noexcept;
  std::uint32_t (*thread_id)() noexcept;
  int (*at_fork_in_child)(void (*child)()) noexcept;
  std::uint64_t (*group_identity)(std::int32_t* ranks, std::size_t count, std::uint32_t occurrence) noexcept;
};

using pace::Boundary;

/// The controller of this process (guest/pacing/pacing.hpp). Calls from other threads than the one that
/// synchronised first change nothing, but for `keep_order`.
struct PaceApi {
  /// Before a collective of the communicator: the place of a delay that was asked for there.
  void (*enter)(std::uint32_t comm) noexcept;
  /// The program has waited from `begin` to `end` (clock ticks) for a collective of `bytes` (negative = not
  /// known); a delay before the next iteration is served here.
  void (*leave)(std::uint32_t comm, std::uint64_t begin, std::uint64_t end, std::int64_t bytes,
                Boundary boundary) noexcept;
  /// Collective number `number` of the communicator is about to begin on one of a pool's threads: it is held
  /// here for the one before it, where that was asked for. Any thread.
  void (*keep_order)(std::uint32_t comm, std::uint64_t number) noexcept;
};

/// What the preload object offers.
struct Host {
  std::uint32_t abi;
  const WriterApi* writer;
  const PaceApi* pace;  ///< null where nobody asked for a controller
  /// The next definition of a symbol after ours, in the process's own lookup order or in a library that was
  /// opened privately (Python's RTLD_LOCAL). Null where there is none.
  void* (*find_real)(const char* symbol);
  /// A data symbol as the program itself sees it (copy relocations included).
  void* (*find_data)(const char* symbol);
};

/// One wrapped function of a typed object: the wrapper, and where it finds the real one.
struct Wrapper {
  const char* symbol;
  void* function;
  void** real;
};

/// A list of wrappers that one file offers.
struct Wrappers {
  const Wrapper* first;
  std::size_t count;
};

/// What a typed object exports, as `cox_typed_attach`: its wrappers, or null where it cannot work in this
/// process.
struct TypedTable {
  std::uint32_t abi;
  std::uint32_t count;
  const Wrapper* wrappers;
  /// Completes what the object still holds open, before the process ends; null where it holds nothing.
  void (*settle)() noexcept = nullptr;
};
using AttachFunction = const TypedTable* (*)(const Host* host);

}  // namespace cox::guest
