// SPDX-License-Identifier: Apache-2.0
/// \file
/// The same operation found on all its members: (communicator, sequence number)
/// for collectives, order for waits.
///
/// Everything is dense: an operation is an index, a member's part in it is a cell. No map per event.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "cox/model/collective.hpp"
#include "cox/trace/run.hpp"

#include "diagnose/match/scan.hpp"

namespace cox::diagnose {

inline constexpr std::size_t kNoCells = std::numeric_limits<std::size_t>::max();
/// In a cell: this member's call is not known, or its own work before it is not.
inline constexpr Duration kUnknown = Duration::min();

/// Ranks that synchronise together, and their operations.
struct Group {
  std::int32_t comm = -1;  ///< index into `run.communicators`; -1: waits that name none
  bool waits = false;      ///< operations are Wait spans, numbered by order
  bool exchange = false;   ///< of these, calls for messages that all ranks make alike: see exchanges.hpp
  std::uint8_t wait_kind = 0;
  std::int64_t declared = 0;          ///< members there should be
  std::vector<std::int32_t> members;  ///< those in the Run, as ascending indices into `run.ranks`
  std::int64_t ops = 0;
  std::int64_t expected_ops = 0;  ///< as the sequence numbers say: last - first + 1
  std::uint32_t first_seq = 0;
  /// Sorted numbers, only where they lie too far apart for a dense table.
  std::vector<std::uint32_t> sparse_seqs;
  std::int64_t mark_limit = 0;  ///< most (operation, member) pairs for which a bit each is kept
  std::size_t first_op = 0;     ///< into `Matching::ops`
  /// Into the cell columns; kNoCells: nobody blocks here, or too few calls.
  std::size_t first_cell = kNoCells;
  [[nodiscard]] std::size_t cell(std::int64_t op, std::size_t member) const {
    return first_cell + static_cast<std::size_t>(op) * members.size() + member;
  }
};

struct Operation {
  std::int32_t seen = 0;  ///< members that made it and finished
  model::Collective kind = model::Collective::Other;
  bool mismatch = false;  ///< members disagree on what it is
  bool disputed = false;  ///< or on its size, root or element, finished or not
};

struct Matching {
  std::vector<Group> groups;  ///< communicators in use by index, then groups of waits
  std::vector<Operation> ops;
  /// One cell per operation and member of a group in which the program blocks.
  std::vector<Duration> entry;  ///< kUnknown where the member did not make or finish the call
  std::vector<Duration> exit;
  std::vector<Duration> work;  ///< own work since the last synchronisation; kUnknown where carried in
  /// Time inside operations that do not hold all, since the last one that did;
  /// empty where that is always zero.
  std::vector<Duration> held;
  /// Per rank: sums over its synchronisation points, first to last.
  struct Totals {
    Duration work{};
    Duration inside{};
    Duration messages{};  ///< in waits for messages; the first and the last of these may be first and last
    Duration first_entry{};
    Duration last_exit{};
    std::int64_t points = 0;
  };
  std::vector<Totals> totals;
  std::int64_t finished_calls = 0;  ///< collectives finished and matched to an operation, each member once
  std::int64_t mismatched_ops = 0;
  std::int64_t disputed_ops = 0;
};

/// Index of a group, or -1; groups are sorted by (waits, comm, kind).
[[nodiscard]] std::int32_t find_group(const std::vector<Group>& groups, bool waits, std::int32_t comm,
                                      std::uint8_t wait_kind);

/// Finds all groups and fills the cells. Cost: linear in events; memory 24 bytes per blocking call.
[[nodiscard]] Matching match(const trace::Run& run, const CommIndex& comms,
                             const std::vector<RankScan>& scans);

}  // namespace cox::diagnose
