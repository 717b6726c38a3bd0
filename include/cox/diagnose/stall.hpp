// SPDX-License-Identifier: Apache-2.0
/// \file
/// What stands still and why: calls that never returned, who is missing in them, and what that rank did last.
/// How it is told: docs/concepts/hangs.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/ids.hpp"
#include "cox/base/units.hpp"
#include "cox/model/collective.hpp"
#include "cox/trace/run.hpp"

namespace cox::diagnose {

/// State of a rank's process. Text forms are the lower-case names.
enum class ProcessState : std::uint8_t {
  Unknown,
  Running,   ///< its main thread runs or is ready to
  Sleeping,  ///< its main thread waits for something
  Stopped,   ///< by a signal or a debugger
  Gone,      ///< there is no such process any more
  Ended,     ///< it closed its record in order
  Silent,    ///< its record fell silent long before the others': stopped or gone
};
[[nodiscard]] const char* name_of(ProcessState s);

/// What a process state rests on. Text forms: `none`, `machine`, `samples`, `record`.
enum class StateSource : std::uint8_t { None, Machine, Samples, Record };
[[nodiscard]] const char* name_of(StateSource s);

/// One collective, or one point-to-point call.
struct CallName {
  model::Collective operation = model::Collective::Other;
  bool point_to_point = false;
  CommId comm = trace::kNoComm;
  std::string comm_name{};
  std::uint32_t seq = 0;  ///< position in the communicator's order; point-to-point: 0
  Bytes bytes{};          ///< point-to-point: not recorded, 0
};

/// What is known of one rank at the end of what was recorded, or now.
struct LastSeen {
  Rank rank;
  int pid = 0;
  std::string host{};
  ProcessState process = ProcessState::Unknown;
  StateSource source = StateSource::None;
  std::optional<CallName> last_call{};  ///< that it finished
  Duration last_call_end{};             ///< from the Run's origin
  std::optional<CallName> inside{};     ///< that it has entered and not left
  Duration idle{};                      ///< nothing recorded of it for so long
  std::string phase{};                  ///< `forward`, ...: that it has begun and not ended; empty where none
  std::optional<StepId> step{};         ///< last one that it marked
  std::string text{};
};

/// One open call, seen from all its members.
struct StalledCall {
  CallName call;
  std::vector<Rank> waiting{};       ///< inside
  std::vector<Rank> missing{};       ///< have not entered
  std::vector<Rank> left{};          ///< have entered and left
  std::vector<Rank> not_recorded{};  ///< whether they entered is not in the record
  std::int64_t unnamed = 0;          ///< members that nothing names
  Duration since{};                  ///< when the first of `waiting` entered, from the Run's origin
};

/// Text forms: `missing_rank`, `stuck_inside`, `all_entered`, `peer_wait`, `order_mismatch`,
/// `wait_cycle`, `mismatch`, `not_recorded`.
enum class StallKind : std::uint8_t {
  MissingRank,    ///< `ranks` have not entered
  StuckInside,    ///< all entered; `ranks` are stopped, gone or silent inside
  AllEntered,     ///< all entered and somebody has not left: transport or library; nobody is blamed
  PeerWait,       ///< inside a point-to-point call with `ranks`
  OrderMismatch,  ///< ranks called collectives of several communicators in different orders
  WaitCycle,      ///< ranks wait for each other, partly in point-to-point calls
  Mismatch,       ///< all entered, but not the same operation: `ranks` differ from the majority
  NotRecorded,    ///< who is missing is not in the record
};
[[nodiscard]] const char* name_of(StallKind k);

/// Something that stands still.
struct Stall {
  StallKind kind = StallKind::MissingRank;
  /// Longer than `bar`, or certain without it (a process that is stopped or gone; a cycle). Else it may be
  /// nothing but a call that the look fell into.
  bool hung = false;
  bool consequence = false;           ///< those who are missing wait themselves: see the others first
  std::vector<StalledCall> calls{};   ///< one; in a cycle all that take part
  std::vector<Rank> ranks{};          ///< who holds it up; empty where nobody is blamed
  std::vector<LastSeen> last_seen{};  ///< of `ranks`, the first 16
  Duration since{};
  Duration waited{};  ///< from `since` to `Present::at`
  Duration bar{};     ///< three times the longest call or pause before, at least 1 s; 10 s without any before
  std::string since_utc{};  ///< `since` by the clock on the wall; empty where not known
  std::string text{};
};

/// Text forms: `operation`, `order`, `root`, `count`, `type_size`.
enum class MismatchKind : std::uint8_t {
  Operation,  ///< members called different operations
  Order,      ///< members called the same two neighbours in different orders
  Root,
  Count,     ///< message sizes differ
  TypeSize,  ///< element sizes differ though message sizes do not
};
[[nodiscard]] const char* name_of(MismatchKind k);

/// What some members of a communicator did, the same in all `count` operations.
struct MismatchSide {
  std::vector<Rank> ranks{};
  CallName call;                              ///< of the first operation
  std::optional<std::uint32_t> root{};        ///< rank in the communicator
  std::optional<std::uint32_t> type_bytes{};  ///< of one element
};

/// Members of one communicator that disagree on what they do together.
struct Mismatch {
  MismatchKind kind = MismatchKind::Operation;
  CommId comm = trace::kNoComm;
  std::uint32_t first_seq = 0;
  std::uint32_t last_seq = 0;
  std::int64_t count = 0;             ///< operations in which the same ranks disagree in the same way
  std::vector<Rank> ranks{};          ///< the minority; empty where there is no majority
  std::vector<MismatchSide> sides{};  ///< largest first, at most 8
  std::string text{};
};

/// Where `now` is on the Run's axis.
struct Present {
  Duration at{};
  bool live = false;  ///< by this machine's clock, as a process of the job still runs here; else: last record
};

/// How a job ended that did not end well.
struct Ending {
  int exit_status = 0;          ///< of the command; 128 + n where signal n ended it; 0 = not known
  std::string logged{};         ///< what a log says of it: `aborted`
  int signal = 0;               ///< that ended it; 0 = none, or not known
  int told = 0;                 ///< signal by which somebody outside asked it to end: nobody failed; 0 = none
  int told_before_s = -1;       ///< how long before its end that was; -1 = not known
  std::optional<Rank> first{};  ///< ended before the others did, as far as that is known
  int first_status = -1;        ///< that rank's exit status; -1 = not known
  bool first_cut = false;       ///< `first` was cut off, as by a signal: it closed nothing
  std::optional<Rank> only_closed{};  ///< ended in order while all others were cut off
  std::optional<Rank> only_cut{};     ///< was cut off while all others ended in order
  /// Seen to end before all others, in order: it may have failed because of another.
  std::optional<Rank> first_in_order{};
  /// The call in which others waited to the end and to which `first` never came, having ended in order and outside of any.
  std::optional<StalledCall> absent_from{};
  std::string text{};
};

/// All that stands still or disagrees.
struct Trouble {
  Present present;                         ///< what `stalls` call now
  std::vector<Stall> stalls;               ///< calls that never returned: causes first, those that hang first
  std::int64_t more_stalls = 0;            ///< beyond the first 256
  std::vector<Mismatch> mismatches;        ///< members that disagree on what they do together
  std::int64_t mismatched_operations = 0;  ///< all of them
  std::string headline;            ///< what hangs or disagrees, in a few words; empty where nothing does
  std::optional<Ending> ending{};  ///< where the command's status is known and not 0, or a log says so

  [[nodiscard]] bool any() const;  ///< something hangs, or members disagree
};

}  // namespace cox::diagnose
