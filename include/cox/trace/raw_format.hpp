// SPDX-License-Identifier: Apache-2.0
/// \file
/// The bytes that a guest leaves behind while a job runs: one `.coxraw` file per process.
///
/// Layout: one `RawHeader` (4096 bytes), then chunks of `chunk_bytes` each; a chunk is a `ChunkHeader`
/// followed by records of one kind. Everything is little-endian and naturally aligned. Documented byte by
/// byte in docs/reference/run-format.md; the sizes are pinned below. Libc only: this header is part of every
/// guest. Held by: src/trace/raw_format_test.cpp, tests/data/run-v1 (a fixture that stays readable for ever).
#pragma once

#include <cstddef>
#include <cstdint>

namespace cox::trace {

inline constexpr char kRawMagic[8] = {'C', 'O', 'X', 'R', 'A', 'W', '1', '\n'};
inline constexpr std::uint32_t kRawVersion = 1;
inline constexpr std::uint32_t kEndianMark = 0x01020304;
inline constexpr std::uint32_t kHeaderBytes = 4096;
inline constexpr std::uint32_t kDefaultChunkBytes = 64 * 1024;
inline constexpr std::uint32_t kChunkMagic = 0x4b4e4843;  // "CHNK"

/// File in a Run folder that tells the guests of that Run to stop (`cox detach`).
inline constexpr const char* kDetachFile = "detached";

/// What a record says. Values are part of the format and are never renumbered.
enum class EventKind : std::uint8_t {
  None = 0,
  Collective = 1,    ///< one call of a collective, from entry to return
  Wait = 2,          ///< the program waits here for results of communication that runs elsewhere
  Step = 3,          ///< an instant: training step `bytes` begins (begin == end)
  Phase = 4,         ///< a span of the program's own work; `op` says which
  PointToPoint = 5,  ///< messages with one peer, added up since the last collective: see `PeerKind`
  /// A collective is handed to a library's worker; `comm`, `seq`, `op` as of the Collective record.
  Submit = 6,
  Pace = 7,  ///< a decision of the pacing controller: see PaceFlags
  /// One of the peers of the Wait record that follows on this thread: `comm`, `aux` name it. An instant.
  /// With kNumbered, which messages of that peer the call waits for.
  Awaited = 8,
};

/// `op` of a Phase record.
enum class PhaseKind : std::uint8_t {
  Other = 0,
  Forward = 1,
  Backward = 2,
  Optimizer = 3,
  Data = 4,
  Evaluation = 5
};

/// `op` of a Wait record: what the program called.
enum class WaitKind : std::uint8_t {
  Other = 0,
  GradientSync = 1,
  Request = 2,  ///< completion of non-blocking work; `comm` and `seq` name the collective where it is one
  /// A blocking point-to-point call (or completion of some) that took long, or the first after a while; `aux`
  /// is the peer, and with kNumbered the record says which messages. Where it waits for messages of several
  /// peers, `aux` is kAnyPeer, `seq` says how many Awaited records lie before it, and `bytes` how many of its
  /// messages have a peer that is not known.
  Peer = 3,
};

/// MPI functions of which a Run only says how often they were called.
enum class Unobserved : std::uint8_t {
  Sessions = 0,        ///< MPI_Session_init, communicators made from groups
  OneSided = 1,        ///< windows: Put, Get, Accumulate, and what synchronises them
  Files = 2,           ///< MPI_File_*
  LargeCounts = 3,     ///< the _c names of what communicates
  FaultTolerance = 4,  ///< MPIX_Comm_revoke, _shrink, _agree and their like
  Messages = 5,        ///< matched receives, Isendrecv, partitioned messages
  Processes = 6,       ///< MPI_Comm_spawn, _connect, _accept, _join
};
inline constexpr std::size_t kUnobservedKinds = 7;
inline constexpr std::size_t kUnobservedRoom = 16;

/// `op` of a PointToPoint record. `begin` and `end` are entry of the first and return of the last call, `seq`
/// counts messages, `bytes` adds up their sizes (sent; for Receive: of the buffers posted), `aux` is the
/// peer's rank in `comm` (kAnyPeer where the program named none).
enum class PeerKind : std::uint8_t { Send = 0, Receive = 1 };
inline constexpr std::uint32_t kAnyPeer = 0xffffffff;

/// Fields of a Pace record. `begin`..`end` is the delay as it was served (begin == end: none was); `op` is
/// pace::Reason, `bytes` the delay decided in nanoseconds, `comm` the paced group, `seq` the iteration that
/// it precedes, `aux` the estimated gain in millionths (as int32), and `flags` the state and the mode. There
/// is one where a delay was served and one where the reason has changed. One of reason InOrder is no
/// decision: a worker's collective, number `seq` of `comm`, was held from `begin` to `end`, and for `bytes`
/// nanoseconds at most.
struct PaceFlags {
  [[nodiscard]] static constexpr std::uint16_t of(std::uint8_t state, std::uint8_t mode) {
    return static_cast<std::uint16_t>(state | (mode << 8));
  }
  [[nodiscard]] static constexpr std::uint8_t state(std::uint16_t flags) {
    return static_cast<std::uint8_t>(flags & 0xff);
  }
  [[nodiscard]] static constexpr std::uint8_t mode(std::uint16_t flags) {
    return static_cast<std::uint8_t>(flags >> 8);
  }
};
/// Bits of `RawRecord::flags`.
// NOLINTBEGIN(readability-identifier-naming): unscoped, so its values are named as constants.
enum RecordFlag : std::uint16_t {
  kNonBlocking = 1 << 0,  ///< the call only starts the operation
  kVariable = 1 << 1,     ///< v or w form: members may contribute different sizes
  kTagged = 1 << 2,       ///< `seq` is the library's own operation number, equal on all members
  kRooted = 1 << 3,       ///< `aux` holds the root's rank in the communicator
  kOffThread = 1 << 4,    ///< ran on a library's worker thread, not where the program waits
  kMarked = 1 << 5,       ///< came from the C API (cox/abi/observe.h)
  kElement = 1 << 6,      ///< `aux` holds the bytes of one element (never together with kRooted)
  kNoSync = 1 << 7,       ///< Backward phase whose gradients are only accumulated (PyTorch's no_sync)
  kNumbered = 1 << 8,     ///< Awaited, or Wait for one peer: `seq` and `bytes` hold a MessageNumbers
};
// NOLINTEND(readability-identifier-naming)

/// Which messages of one peer a call completes: `seq` and `bytes` of a record with kNumbered. Messages are
/// counted from 1 per communicator, peer and direction, in the order in which they were started; 0 = none.
struct MessageNumbers {
  std::uint32_t received = 0;        ///< last one of those from the peer; `seq`
  std::uint32_t sent = 0;            ///< last one of those to the peer; lower half of `bytes`
  std::uint32_t sent_before_ns = 0;  ///< so long before the record begins that one was started; upper half
  static constexpr std::uint32_t kLongest = 0x7fffffff;  ///< stands for this and more

  [[nodiscard]] constexpr std::uint64_t bytes() const { return std::uint64_t{sent_before_ns} << 32 | sent; }
  [[nodiscard]] static constexpr MessageNumbers of(std::uint32_t seq, std::uint64_t bytes) {
    return {seq, static_cast<std::uint32_t>(bytes), static_cast<std::uint32_t>(bytes >> 32)};
  }
};

/// One event, 40 bytes. Stored with `end` = 0 before the call and completed after it: a call that never
/// returns stays visible.
struct RawRecord {
  std::uint64_t begin;  ///< clock ticks at entry
  std::uint64_t end;    ///< clock ticks at return; 0 = had not returned
  std::uint64_t bytes;  ///< Collective: message size (nccl-tests convention); Step: step number; else 0
  /// Collective, Wait: local number of the communicator (see MetaKind::Communicator); 0 = unknown.
  std::uint32_t comm;
  std::uint32_t seq;    ///< Collective: position in the communicator's own order, from 0
  std::uint8_t kind;    ///< EventKind
  std::uint8_t op;      ///< model::Collective, PhaseKind or WaitKind
  std::uint16_t flags;  ///< RecordFlag
  std::uint32_t aux;    ///< root where kRooted
};
static_assert(sizeof(RawRecord) == 40 && offsetof(RawRecord, aux) == 36);

enum class ClockKind : std::uint32_t { Unknown = 0, Tsc = 1, Monotonic = 2 };

/// One reading of three clocks together: ticks are taken before and after the other two and averaged.
struct ClockPair {
  std::uint64_t ticks;
  std::int64_t monotonic_ns;
  std::int64_t realtime_ns;
};
static_assert(sizeof(ClockPair) == 24);

enum class WriterState : std::uint32_t {
  Open = 1,      ///< the process was running, or was killed
  Closed = 2,    ///< it finalized or exited in order
  Disabled = 3,  ///< recording switched itself off; `disable_reason` says why
};

/// `disable_reason` of a writer that took more time than it may.
inline constexpr std::uint32_t kDisabledTooSlow = 0x10000;
/// `disable_reason` of a writer that was told to stop (`cox detach`).
inline constexpr std::uint32_t kDisabledDetached = 0x10001;

inline constexpr std::uint32_t kMaxClockPairs = 64;

/// First 4096 bytes of the file. Text fields are UTF-8, zero-padded, cut at their size. -1 = not known.
struct RawHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t endian;
  std::uint32_t header_bytes;
  std::uint32_t chunk_bytes;
  std::uint32_t record_bytes;
  std::uint32_t chunk_limit;    ///< most chunks this file may hold (--max-size)
  std::uint32_t pinned_chunks;  ///< the first so many chunks are never overwritten
  ClockKind clock_kind;
  double ticks_per_second;  ///< first estimate; the pairs below are the authority
  std::int32_t pid;
  std::int32_t ppid;
  std::int32_t rank;  ///< rank in the job's world
  std::int32_t world_size;
  std::int32_t local_rank;
  std::int32_t attempt;          ///< restart count where the launcher tells it
  WriterState state;             ///< updated live
  std::uint32_t disable_reason;  ///< an errno, kDisabledTooSlow, or 0
  std::uint64_t tickets;  ///< chunks handed out so far; beyond chunk_limit the oldest unpinned one is reused
  std::uint64_t chunks_reserved;  ///< chunks the file holds on disk
  std::uint64_t dropped_records;  ///< records for which there was no room
  std::uint64_t recycled_chunks;  ///< full chunks that were overwritten to stay under --max-size
  std::uint64_t recycled_records;
  std::uint64_t overhead_ticks;  ///< own cost per event, measured at start: median of repeated empty events
  std::uint64_t pair_count;      ///< valid entries of `pairs`
  ClockPair pairs[kMaxClockPairs];
  char host[64];
  char boot_id[40];
  char job[64];              ///< batch system's or launcher's job id; empty where there is none
  char launcher[16];         ///< openmpi, mpich, slurm, torchrun, none
  char library[64];          ///< what was hooked: "Open MPI 4.1.4", "gloo", "c10d+gloo", ...
  char program[256];         ///< path of the executable
  char timing[64];           ///< timing source per event kind, e.g. "collective=cpu wait=cpu"
  std::uint64_t start_time;  ///< of the process, in clock ticks after boot (/proc/PID/stat field 22); 0 = not
                             ///< known. Tells a process from a later one with the same number.
  std::uint64_t time_namespace;  ///< inode of /proc/self/ns/time: processes of one boot_id share a monotonic
                                 ///< clock only within one; 0 = not known
  std::int32_t node_number;      ///< the launcher's number of the node, plus 1; 0 = not told
  std::int32_t local_size;       ///< ranks on this node as the launcher says; 0 = not told
  std::uint64_t sample_tickets;  ///< samples taken so far
  std::uint64_t unobserved_calls[kUnobservedRoom];  ///< by `Unobserved`: calls that left no record
  /// Clock ticks: between the records that began earlier and those after, some were overwritten (--max-size).
  /// 0 = none were. Not known to the guest: whoever reads a raw file finds it out.
  std::uint64_t overwritten_until;
  std::uint64_t pid_namespace;  ///< inode of /proc/self/ns/pid: `pid` is a number of that one; 0 = not known
  char reserved[1680];
};
static_assert(sizeof(RawHeader) == kHeaderBytes);

enum class ChunkKind : std::uint32_t { Events = 1, Meta = 2, Samples = 3 };

/// Head of each chunk, 64 bytes.
struct ChunkHeader {
  std::uint32_t magic;  ///< kChunkMagic
  ChunkKind kind;
  std::uint64_t ticket;     ///< order of handing out; a reused chunk has a higher one
  std::uint32_t thread;     ///< thread id of the writer (Linux tid)
  std::uint32_t sealed;     ///< 1 once the writer moved on
  std::uint64_t committed;  ///< Events: records begun; Samples: samples; Meta: bytes used. Stored last, with
                            ///< release order.
  std::uint64_t first_ticks;  ///< clock when the chunk was handed out
  char reserved[24];
};
static_assert(sizeof(ChunkHeader) == 64);

/// State of the process about ten times a second, taken off the hot path. Counters count from the start of
/// the process (of the machine where said); all ones = not readable here.
struct RawSample {
  std::uint64_t ticks;         ///< clock when it was taken
  std::uint64_t cpu_ns;        ///< CPU time of the process
  std::uint64_t main_cpu_ns;   ///< CPU time of its main thread
  std::uint64_t main_wait_ns;  ///< time the main thread was ready to run and had no CPU
  std::uint64_t throttled_us;  ///< time its control group was denied CPU by a quota
  std::uint64_t pressure_us;   ///< machine: time some task waited for a CPU (PSI)
  std::uint64_t voluntary;     ///< context switches, main thread
  std::uint64_t involuntary;   ///< context switches, main thread
  std::uint64_t minor_faults;
  std::uint64_t major_faults;
  std::uint32_t frequency_khz;      ///< of the CPU that the main thread ran on
  std::uint32_t thermal_throttles;  ///< of that CPU, since boot
  std::uint32_t threads;
  std::int32_t cpu;  ///< that the main thread last ran on; -1 = not readable
  char state;        ///< of the main thread as in /proc: R S D T t Z; 0 = not readable
  char reserved[31];
};
static_assert(sizeof(RawSample) == 128);

/// Entries of Meta chunks: head, then `size` bytes, then padding to 8.
enum class MetaKind : std::uint32_t {
  Communicator = 1,  ///< MetaCommunicator, then `member_count` int32 world ranks (0 of them where unknown),
                     ///< then the name
  Note = 2,          ///< text: something the guest could not do, said once
  Locality = 3,      ///< text: lines `path<TAB>value`, facts of the machine as the process saw them
  CommunicatorRanges = 4,  ///< MetaCommunicator, then `member_count` MetaRanks, then the name
};
struct MetaHead {
  MetaKind kind;
  std::uint32_t size;
};
struct MetaCommunicator {
  std::uint64_t identity;      ///< equal on all members and no other group's; 0 = none
  std::uint32_t local_number;  ///< what RawRecord::comm refers to, from 1
  std::int32_t size;           ///< members
  std::int32_t my_rank;        ///< own rank in it
  std::uint32_t member_count;  ///< members that follow
};
/// World ranks first, first + step, ..., as many as `count`. Members of a communicator that a layout made are one
/// such range, however many they are.
struct MetaRanks {
  std::int32_t first;
  std::int32_t count;
  std::int32_t step;

  bool operator==(const MetaRanks&) const = default;
};
static_assert(sizeof(MetaHead) == 8 && sizeof(MetaCommunicator) == 24 && sizeof(MetaRanks) == 12);

/// Calls `add(MetaRanks)` for the ranges that a list is made of, from its front on. Returns how many they are.
/// libc only. Cost: linear. Held by: src/trace/raw_format_test.cpp
template <class Add>
std::size_t for_each_range(const std::int32_t* ranks, std::size_t count, Add&& add) noexcept {
  std::size_t ranges = 0;
  for (std::size_t i = 0; i < count; ++ranges) {
    const std::int64_t step = i + 1 < count ? std::int64_t{ranks[i + 1]} - ranks[i] : 1;
    std::size_t end = i + 1;
    while (end < count && step >= INT32_MIN && step <= INT32_MAX &&
           std::int64_t{ranks[end]} - ranks[end - 1] == step)
      ++end;
    add(MetaRanks{ranks[i], static_cast<std::int32_t>(end - i),
                  end - i > 1 ? static_cast<std::int32_t>(step) : 1});
    i = end;
  }
  return ranges;
}

}  // namespace cox::trace
