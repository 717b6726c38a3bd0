// SPDX-License-Identifier: Apache-2.0
/// \file
/// A Run in memory: what every rank did, when, and how far that can be trusted.
///
/// Comes from `open_run` (observed), from an importer, or from `simulate`; who reads it can tell which only
/// by `provenance`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cox/base/ids.hpp"
#include "cox/base/units.hpp"
#include "cox/model/collective.hpp"
#include "cox/trace/raw_format.hpp"

namespace cox::trace {

enum class Provenance : std::uint8_t { Observed, Imported, Simulated };
[[nodiscard]] const char* name_of(Provenance p);  ///< `observed`, `imported`, `simulated`

/// What a process's times are measured with, and how well they can be compared with the others'.
struct ClockDomain {
  NodeId node;
  ClockKind kind = ClockKind::Unknown;
  /// Largest distance of a (ticks, monotonic) reading from the line through all of them.
  Duration residual{};
};

/// One machine. Ranks of one node share a clock.
struct Node {
  NodeId id;
  std::string host;
  std::string boot_id;
};

/// Group of ranks that communicate together (PyTorch: process group).
struct Communicator {
  CommId id;
  std::uint64_t identity = 0;  ///< as recorded; 0 where the members could not be told
  std::string name;
  int size = 0;             ///< members as declared by the library
  std::vector<Rank> ranks;  ///< members, sorted; those seen where the list was not recorded
};

/// Events of one rank as columns of equal length, ordered by `begin`. Times count from the Run's origin.
struct EventColumns {
  std::vector<Duration> begin;
  std::vector<Duration> end;  ///< `kStillRunning` where the call had not returned
  std::vector<Bytes> bytes;   ///< Step records: the step's number instead
  std::vector<CommId> comm;   ///< `kNoComm` where there is none
  std::vector<std::uint32_t> seq;
  std::vector<EventKind> kind;
  std::vector<std::uint8_t> op;
  std::vector<std::uint16_t> flags;
  std::vector<std::uint32_t> aux;  ///< root, element size or peer: see RecordFlag and WaitKind
  std::vector<std::uint32_t>
      thread;  ///< small number per thread of the rank; 0 is the one that recorded first

  [[nodiscard]] std::size_t size() const { return begin.size(); }
  void reserve(std::size_t n);
  [[nodiscard]] model::Collective collective(std::size_t i) const {
    return static_cast<model::Collective>(op[i]);
  }
};
inline constexpr Duration kStillRunning = Duration::max();
inline constexpr CommId kNoComm{-1};

/// One process of the job that has a rank.
struct RankTrack {
  Rank rank;
  NodeId node;
  LocalRank local_rank;
  int pid = 0;
  int attempt = 0;
  std::string program;
  std::string library;
  std::string timing;
  ClockDomain clock;
  WriterState state = WriterState::Closed;
  Duration overhead_per_event{};       ///< measured by the writer itself
  std::uint64_t dropped_records = 0;   ///< no room in the file
  std::uint64_t recycled_records = 0;  ///< overwritten under --max-size
  EventColumns events;
};

/// Something in the input that was not used, and why. Printed, and counted in the coverage.
struct Note {
  std::string file;
  std::string text;
};

/// What the launcher knew: contents of run.json.
struct RunInfo {
  std::string name;     ///< folder name
  std::string command;  ///< as typed, shell-quoted; empty where unknown
  std::string tool;     ///< who wrote it: "cox 0.1.0"
  std::string started;  ///< UTC, ISO 8601
  std::string job;
  std::string launch{};  ///< launcher and its id, where it started `cox observe` once per rank; else empty
  int exit_status = -1;  ///< of the observed command; -1 = unknown
  Provenance provenance = Provenance::Observed;
};

struct Run {
  Provenance provenance = Provenance::Observed;
  RunInfo info;
  std::int64_t origin_realtime_ns = 0;  ///< Unix time of the Run's origin on the first node
  int world_size = 0;                   ///< as the ranks say; 0 where none did
  std::vector<Node> nodes;
  std::vector<Communicator> communicators;
  std::vector<RankTrack> ranks;  ///< sorted by rank
  std::vector<Note> notes;

  [[nodiscard]] std::size_t event_count() const;
  [[nodiscard]] const Communicator* find(CommId id) const;
};

}  // namespace cox::trace
