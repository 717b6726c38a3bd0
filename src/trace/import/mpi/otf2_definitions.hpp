// SPDX-License-Identifier: Apache-2.0
/// \file
/// What an OTF2 archive says before its events: the anchor file, the global definitions, and per location the
/// table from its own numbers to the global ones.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"

#include "trace/import/mpi/mpi_part.hpp"
#include "trace/import/mpi/otf2_buffer.hpp"

namespace cox::trace::otf2 {

/// The `.otf2` file.
struct Anchor {
  std::uint64_t event_chunk_bytes = 0;
  std::uint64_t definition_chunk_bytes = 0;
  std::uint8_t substrate = 0;    ///< 1 POSIX files, 2 SION container
  std::uint8_t compression = 0;  ///< 1 none, 2 zlib
  std::uint64_t locations = 0;
  std::uint64_t definitions = 0;
  std::string creator;  ///< "Score-P 2.0.2"
};
[[nodiscard]] bool is_anchor(std::string_view head);
/// Whether it begins as one of the other files of an archive does: definitions or events.
[[nodiscard]] bool is_part(std::string_view head);
/// Nothing where the file ends early.
[[nodiscard]] std::optional<Anchor> parse_anchor(std::string_view bytes);

struct Location {
  std::uint64_t id = 0;
  std::uint8_t type = 0;  ///< 1 CPU thread, 2 accelerator stream, 3 metric
  std::uint64_t events = 0;
  std::uint32_t group = kUndefined32;
};
struct LocationGroup {
  std::string name;
  std::uint8_t type = 0;  ///< 1 process, 2 accelerator
  std::uint32_t node = kUndefined32;
};
struct SystemNode {
  std::string name;
  std::string class_name;
  std::uint32_t parent = kUndefined32;
  bool shares_memory = false;
};
struct Region {
  std::string name;
  bool is_mpi = false;
  MpiFunction function;
};
/// Members as indices into the list of MPI locations, or location ids where `type` says so.
struct Group {
  std::uint8_t type = 0;  ///< 4 list of MPI locations, 5 group of ranks, 6 each its own
  std::uint8_t paradigm = 0;
  std::vector<std::uint64_t> members;
};
struct Comm {
  std::string name;
  std::uint32_t group = kUndefined32;
};

inline constexpr std::uint8_t kProcess = 1;
inline constexpr std::uint8_t kCpuThread = 1;
inline constexpr std::uint8_t kMpi = 4;
inline constexpr std::uint8_t kCommLocations = 4;
inline constexpr std::uint8_t kCommGroup = 5;
inline constexpr std::uint8_t kCommSelf = 6;

struct Definitions {
  std::uint64_t ticks_per_second = 0;
  std::uint64_t global_offset = 0;
  std::uint64_t trace_length = 0;
  std::optional<std::uint64_t> realtime_ns;  ///< Unix time at `global_offset`; since OTF2 3.0
  std::vector<Location> locations;           ///< as defined
  std::map<std::uint32_t, LocationGroup> groups_of_locations;
  std::map<std::uint32_t, SystemNode> nodes;
  std::map<std::uint32_t, Region> regions;
  std::map<std::uint32_t, Group> groups;
  std::map<std::uint32_t, Comm> comms;
  std::int64_t records = 0;
  std::int64_t skipped = 0;  ///< of kinds that a Run has no place for
  std::int64_t damaged = 0;  ///< shorter than their fields
  Ending ending = Ending::Cut;
  std::size_t end_at = 0;
};
[[nodiscard]] Definitions parse_definitions(std::string_view bytes, std::uint64_t chunk_bytes);

/// From a location's own numbers to the archive's.
class IdMap {
 public:
  void read(Cursor& from);
  /// The number itself where the location has no table of this kind, or no entry.
  [[nodiscard]] std::uint32_t operator()(std::uint32_t own) const;

 private:
  std::vector<std::uint64_t> dense_;
  std::map<std::uint64_t, std::uint64_t> sparse_;
};

/// How far a location's clock was off at one moment.
struct ClockOffset {
  std::uint64_t time = 0;  ///< on the location's clock, ticks
  std::int64_t offset = 0;
};

/// The `.def` file of one location.
struct LocalDefinitions {
  IdMap regions;
  IdMap comms;
  std::vector<ClockOffset> offsets;  ///< by time

  /// On the archive's clock: linear between the two offsets around it, and beyond them.
  /// Source: otf2_evt_reader_apply_clock_correction in OTF2_EvtReader.c.
  [[nodiscard]] std::uint64_t corrected(std::uint64_t time) const;
};
[[nodiscard]] LocalDefinitions parse_local_definitions(std::string_view bytes, std::uint64_t chunk_bytes);

}  // namespace cox::trace::otf2
