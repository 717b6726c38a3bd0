// SPDX-License-Identifier: Apache-2.0
/// \file
/// A Run in memory: what happened, rank by rank, when, and how far that can be trusted. What a job was going
/// to do, operation by operation, is a `model::Program`.
///
/// Comes from `open_run` (observed), from an importer, or from `simulate`; who reads it can
/// tell which only by `info.provenance`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cox/base/ids.hpp"
#include "cox/base/units.hpp"
#include "cox/model/collective.hpp"
#include "cox/model/program.hpp"
#include "cox/trace/packed_column.hpp"
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

/// How a node's clock was put beside the first node's.
enum class ClockSource : std::uint8_t {
  Shared = 0,       ///< it is that very clock
  Collectives = 1,  ///< by the operations that ranks of both took part in
  Realtime = 2,     ///< by the realtime clocks alone: as good as NTP keeps them
  Unknown = 3,      ///< not at all
};
[[nodiscard]] const char* name_of(ClockSource s);  ///< `shared`, `collectives`, `realtime`, `unknown`

/// A node's monotonic clock against the first node's. Already taken into account in all times of the Run.
struct NodeClock {
  ClockSource source = ClockSource::Shared;
  NodeId against;        ///< node that the collectives compare it with; the first one where all are connected
  Nanoseconds offset{};  ///< what it shows more than the first node's, at the Run's origin
  double drift_ppm = 0;  ///< how much faster it runs, mean over the Run; microseconds per second
  double drift_error_ppm = 0;  ///< Collectives: its standard error, over all links of the way; 0 = not told
  Duration residual{};    ///< Collectives: 95 % of the Run's stretches, by weight, lie within this of the fit
  Duration half_width{};  ///< Collectives: half of what causality leaves open: a bound on a constant error
  std::int64_t operations = 0;  ///< compared
};

/// One machine. Ranks of one node share a clock.
struct Node {
  NodeId id;
  std::string host;
  std::string boot_id;
  /// Processes of one machine share a clock only within one; 0 = not known.
  std::uint64_t time_namespace = 0;
  /// What its monotonic clock said at the Run's origin; nothing where its times could not be placed.
  std::optional<std::int64_t> monotonic_origin_ns{};
  NodeClock clock{};
};

/// Group of ranks that communicate together (PyTorch: process group).
struct Communicator {
  CommId id;
  std::uint64_t identity = 0;  ///< as recorded; 0 where the members could not be told
  std::string name;
  int size = 0;             ///< members as declared by the library
  std::vector<Rank> ranks;  ///< members, sorted; those seen where the list was not recorded
  /// Member at each place of the communicator's own order, as the members say; -1 where none says.
  std::vector<Rank> by_rank{};
};

using model::kNoComm;  // one for events and operations

/// One record of a rank: what it was in, and from when to when.
struct Event {
  EventKind kind = EventKind::Collective;
  std::uint8_t op = 0;  ///< model::Collective, WaitKind, PhaseKind
  std::uint16_t flags = 0;
  Duration begin{};
  Duration end{};  ///< `kStillRunning` where the call had not returned
  Bytes bytes{};   ///< Step: the step's number instead
  CommId comm = kNoComm;
  std::uint32_t seq = 0;     ///< sequence number on the communicator; Step: none
  std::uint32_t aux = 0;     ///< root, element size or peer: see RecordFlag and WaitKind; Step: none
  std::uint32_t thread = 0;  ///< small number per thread of the rank; 0 is the one that recorded first
};

/// Events of one rank as columns of equal length, ordered by `begin`. Times count from the Run's origin.
///
/// Memory: 24 bytes per event where sizes, communicators and threads are the same, 28 where they take a few
/// values, at most 44. Held by: src/trace/packed_column_test.cpp
struct EventColumns {
  std::vector<Duration> begin;
  std::vector<Duration> end;       ///< `kStillRunning` where the call had not returned
  PackedColumn<Bytes> bytes;       ///< zero for a Step
  PackedColumn<CommId> comm;       ///< `kNoComm` where there is none
  std::vector<std::uint32_t> seq;  ///< Step: lower half of its number
  std::vector<EventKind> kind;     // asked of every event by every pass: as they are
  std::vector<std::uint8_t> op;
  std::vector<std::uint16_t> flags;
  PackedColumn<std::uint32_t> aux;  ///< as in Event; Step: upper half of its number
  PackedColumn<std::uint32_t> thread;

  [[nodiscard]] std::size_t size() const { return begin.size(); }
  void reserve(std::size_t n);
  void push_back(const Event& event);
  [[nodiscard]] Event operator[](std::size_t i) const;
  /// The i-th becomes what the `order[i]`-th was; what `order` leaves out is gone.
  void reorder(std::span<const std::uint32_t> order);
  [[nodiscard]] model::Collective collective(std::size_t i) const {
    return static_cast<model::Collective>(op[i]);
  }
  /// Number of the step that begins with a Step record.
  [[nodiscard]] std::int64_t step_number(std::size_t i) const {
    return static_cast<std::int64_t>(std::uint64_t{aux[i]} << 32 | seq[i]);
  }
};
inline constexpr Duration kStillRunning = Duration::max();

/// State of one process at one moment, taken by its guest about ten times a second. Counters count from the
/// start of the process, of the machine or the control group where said; nothing = not readable there.
struct Sample {
  Duration at{};                               ///< from the Run's origin, as the events'
  std::optional<Duration> cpu{};               ///< CPU time of the process
  std::optional<Duration> main_cpu{};          ///< CPU time of its main thread
  std::optional<Duration> main_wait{};         ///< time the main thread was ready to run and had no CPU
  std::optional<Duration> throttled{};         ///< control group: time it was denied CPU by a quota
  std::optional<Duration> pressure{};          ///< machine: time some task waited for a CPU (PSI)
  std::optional<std::int64_t> voluntary{};     ///< context switches of the main thread
  std::optional<std::int64_t> involuntary{};   ///< context switches of the main thread
  std::optional<std::int64_t> minor_faults{};  ///< of the process
  std::optional<std::int64_t> major_faults{};
  std::optional<std::int64_t> frequency_khz{};      ///< of the CPU that the main thread ran on
  std::optional<std::int64_t> thermal_throttles{};  ///< of that CPU, since boot
  std::optional<int> threads{};
  std::optional<int> cpu_number{};  ///< that the main thread last ran on
  char state = 0;                   ///< of the main thread as in /proc (R S D T t Z ...); 0 = not readable

  bool operator==(const Sample&) const = default;
};

/// What a span of a rank's activity is. Only where the input tells more than synchronisations.
enum class ActivityKind : std::uint8_t {
  Kernel = 0,      ///< on the device, not communication
  Copy = 1,        ///< memcpy or memset on the device
  Launch = 2,      ///< call of the device's runtime on the host
  HostOp = 3,      ///< framework operator on the host
  HostSync = 4,    ///< the host stands still until the device is done
  Gc = 5,          ///< the language's garbage collector
  DataLoad = 6,    ///< the program waits for its next input
  Allocation = 7,  ///< of memory, device or host
};
[[nodiscard]] const char* name_of(ActivityKind k);  ///< `kernel`, `copy`, `launch`, `host_op`, ...
inline constexpr std::uint32_t kNoActivity = 0xffffffff;

/// Activities of one rank as columns of equal length, ordered by `begin`.
struct ActivityColumns {
  std::vector<Duration> begin;
  std::vector<Duration> end;
  std::vector<ActivityKind> kind;
  std::vector<std::uint32_t> lane;      ///< device: stream; host: small number of the thread
  std::vector<std::uint32_t> name;      ///< index into `Run::names`
  std::vector<std::uint32_t> launched;  ///< index of the Launch that started it; kNoActivity = not known

  [[nodiscard]] std::size_t size() const { return begin.size(); }
};

/// The host's call that put a collective on the device's queue.
struct CollectiveLaunch {
  std::uint32_t event = 0;  ///< index into the rank's events
  Duration begin{};
  Duration end{};
};

/// Stretches of useful computation, where the input says so itself; ordered, not overlapping.
struct UsefulColumns {
  std::vector<Duration> begin;
  std::vector<Duration> end;
  std::vector<std::int64_t> instructions;  ///< completed in it; empty where not counted
  std::vector<std::int64_t> cycles;        ///< the same

  [[nodiscard]] std::size_t size() const { return begin.size(); }
};

/// One fact of the machine as a process saw it at its start: a file of sysfs or procfs and its content.
struct LocalityFact {
  std::string path;
  std::string value;

  bool operator==(const LocalityFact&) const = default;
};

/// Calls by `Unobserved`.
using UnobservedCalls = std::array<std::uint64_t, kUnobservedKinds>;

/// One process of the job that has a rank.
struct RankTrack {
  Rank rank;
  NodeId node;
  LocalRank local_rank;
  int pid = 0;
  std::uint64_t pid_namespace = 0;  ///< inode of the PID namespace that `pid` is a number of; 0 = not known
  /// When the process started, in clock ticks after boot (/proc/PID/stat field 22); 0 = not known. Tells it
  /// from a later process with the same number.
  std::uint64_t start_time = 0;
  int attempt = 0;
  int node_number = -1;  ///< the launcher's number of its node; -1 = not told
  int local_size = 0;    ///< ranks on its node as the launcher says; 0 = not told
  std::string launcher;
  std::string program;
  std::string library;
  std::string timing;
  ClockDomain clock;
  WriterState state = WriterState::Closed;
  Duration overhead_per_event{};       ///< measured by the writer itself
  std::uint64_t dropped_records = 0;   ///< no room in the file
  std::uint64_t recycled_records = 0;  ///< overwritten under --max-size
  UnobservedCalls unobserved_calls{};  ///< that left no record
  EventColumns events;
  std::vector<Sample> samples;         ///< by `at`
  std::vector<LocalityFact> locality;  ///< as recorded; empty where the guest recorded none
  // Only from imported inputs that tell them:
  ActivityColumns activities;
  std::vector<CollectiveLaunch> launches;  ///< by `event`
  UsefulColumns useful;
  model::Role role;
};

/// Point-to-point messages of the whole job, each once; times on the ranks' own time lines.
struct MessageColumns {
  std::vector<Rank> from;
  std::vector<Rank> to;
  std::vector<Duration> send_begin;  ///< the sender entered its call
  std::vector<Duration> send_end;    ///< and left it, or its completion
  std::vector<Duration> receive_begin;
  std::vector<Duration> receive_end;
  std::vector<Bytes> bytes;
  std::vector<std::int64_t> tag;

  [[nodiscard]] std::size_t size() const { return from.size(); }
};

/// A file that was looked at, and what became of it.
struct SourceFile {
  std::string file;
  std::string format;  ///< as in docs/reference/inputs.md: `kineto`, `nccl-inspector`, ...; empty: unknown
  bool used = false;
  std::string why;           ///< where it was not used, or only in part
  std::int64_t records = 0;  ///< in it, of those that the format is about
  std::int64_t used_records = 0;
};

/// How far the times in a Run can be believed.
enum class TimesKind : std::uint8_t {
  Clocked = 0,    ///< begins and ends were read from clocks
  Durations = 1,  ///< only durations were: calls are placed so that members leave together
  Steps = 2,      ///< only the length of steps: one synchronisation per step is implied
  None = 3,       ///< nothing was timed
};
[[nodiscard]] const char* name_of(TimesKind k);  ///< `clocked`, `durations`, `steps`, `none`

/// Something in the input that was not used, and why. Printed, and counted in the coverage.
struct Note {
  std::string file;
  std::string text;
};

/// How the program of one rank ended, as the `cox observe` in front of it saw.
struct RankEnd {
  int rank = -1;
  /// 128 + n where signal n ended it. Of what was seen from beside it, which tells no status: `kCutOff`, `kInOrder`.
  int exit_status = 0;
  int signal = 0;                ///< 0 = none
  std::int64_t realtime_ns = 0;  ///< Unix time

  static constexpr int kCutOff = -1;  ///< first of all, its record open
  static constexpr int kInOrder =
      -2;  ///< first of all, its record closed: it may have failed because of another

  bool operator==(const RankEnd&) const = default;
};

/// A rank whose file took no more while it recorded; its record ends there.
struct UnwrittenRank {
  int rank = -1;  ///< -1 = its file does not even tell that
  int error = 0;  ///< errno
};

/// What the launcher knew: contents of run.json.
struct RunInfo {
  std::string name;     ///< folder name
  std::string command;  ///< as typed, shell-quoted, secrets left out; empty where unknown
  int redacted = 0;     ///< secrets that were left out of `command`
  std::string tool;     ///< who wrote it: "cox 0.1.0"
  std::string started;  ///< UTC, ISO 8601
  std::string job;
  std::string launch{};  ///< launcher and its id, where it started `cox observe` once per rank; else empty
  int exit_status = -1;  ///< of the observed command; -1 = unknown
  int signal = 0;        ///< that ended the command itself; 0 = none, or not known
  /// The one of SIGINT, SIGTERM, SIGHUP and SIGQUIT that somebody outside of the job sent to `cox observe` and the job ended of,
  /// of a command that did not end with status 0; 0 = none, or not known.
  int told = 0;
  int told_before_s = -1;  ///< seconds from that signal to the command's end; -1 = none, or not known
  std::vector<UnwrittenRank> unwritten{};  ///< as these said to `cox observe`; the first 256
  std::string logged_end{};  ///< how a log says that the job ended, where that is not well: `aborted`
  /// Of ranks whose program did not end with status 0, in order of time; where `cox observe` runs per rank.
  std::vector<RankEnd> ends{};
  Provenance provenance = Provenance::Observed;
};

struct Run {
  RunInfo info;
  std::int64_t origin_realtime_ns = 0;  ///< Unix time of the Run's origin on the first node
  int world_size = 0;                   ///< as the ranks say; 0 where none did
  std::vector<Node> nodes;
  std::vector<Communicator> communicators;
  std::vector<RankTrack> ranks;  ///< sorted by rank
  std::vector<Note> notes;
  TimesKind times = TimesKind::Clocked;
  Duration resolution{};           ///< times were written as multiples of it; 0 = not known
  std::vector<std::string> names;  ///< of activities
  MessageColumns messages;
  std::vector<SourceFile> sources;  ///< imported: every file looked at

  [[nodiscard]] std::size_t event_count() const;
  [[nodiscard]] const Communicator* find(CommId id) const;
};

}  // namespace cox::trace
