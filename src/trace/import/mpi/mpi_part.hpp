// SPDX-License-Identifier: Apache-2.0
/// \file
/// What ranks did inside MPI, as a part of a Run: the half that readers of MPI traces have in common.
///
/// A reader fills one `MpiRank` per rank, each from files of its own and so in parallel; `add_ranks` numbers
/// the collectives, pairs the two ends of each message and takes the time outside MPI as useful.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cox/base/result.hpp"

#include "trace/import/part/part_builder.hpp"

namespace cox::trace {

/// One end of a point-to-point message, as the rank that posted it recorded it.
struct MessageEnd {
  std::int32_t peer = -1;  ///< world rank; -1 = the input does not tell
  CommId comm = kNoComm;   ///< the reader's own number of the communicator
  std::int64_t tag = 0;
  Bytes bytes{};
  Duration begin{};              ///< entry of the call that posted it
  Duration end = kStillRunning;  ///< return of the call that completed it
  bool operator==(const MessageEnd&) const = default;
};

struct TimeSpan {
  Duration begin{};
  Duration end{};
};

/// One rank's record. Communicators are the reader's own numbers until `add_ranks`.
struct MpiRank {
  Rank rank;
  std::string host;  ///< empty: not known
  std::vector<Event> events;
  /// Indices of a wait and of the one non-blocking collective that it completed.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> waits_for;
  std::vector<MessageEnd> sends;  ///< in the order in which they were posted, as below
  std::vector<MessageEnd> receives;
  std::vector<TimeSpan> inside;                                         ///< calls of MPI on the main thread
  TimeSpan recorded{.begin = Duration::max(), .end = Duration::min()};  ///< main thread: first to last record
  std::int64_t inits = 0;      ///< MPI_Init and MPI_Init_thread that returned
  std::int64_t finalizes = 0;  ///< MPI_Finalize that returned

  /// Widens `recorded`.
  void saw(Duration at) {
    recorded.begin = std::min(recorded.begin, at);
    recorded.end = std::max(recorded.end, at);
  }
};

/// Real communicator of a rank's own number; called once per pair, in the order of ranks.
using CommOf = std::function<CommId(std::size_t rank_index, CommId own)>;

/// Adds all ranks, their messages and what does not fit to the part. Consumes `ranks`.
///
/// Messages: the n-th send from a to b in one communicator with one tag is the n-th receive of it (MPI's
/// non-overtaking order, MPI 4.0 section 3.5), both in the order of posting. Cost: O(n log n).
/// Held by: src/trace/import/mpi/mpi_part_test.cpp
void add_ranks(PartBuilder& part, std::vector<MpiRank> ranks, const CommOf& comm_of);

/// All unpacked bytes of one of the many and often small files of a trace; memory in proportion to them.
/// Errors: as `ByteSource`.
[[nodiscard]] Result<std::string> whole_file(const std::filesystem::path& path, std::uint64_t limit_bytes);

/// What an MPI function does to the time of its caller.
enum class MpiCall : std::uint8_t {
  Other,  ///< time inside MPI, nothing more
  Init,
  Finalize,
  Collective,  ///< `op` says which
  Wait,        ///< returns when requests are complete
  Transfer,    ///< blocking send, receive, or both
  Start,       ///< posts a send or a receive and returns
};
struct MpiFunction {
  MpiCall call = MpiCall::Other;
  model::Collective op = model::Collective::Other;
  std::uint16_t flags = 0;  ///< kNonBlocking, kVariable
};
/// By name: `MPI_Iallreduce`; also with `PMPI_`, with `()` behind it, and in Fortran's spelling.
[[nodiscard]] MpiFunction mpi_function(std::string_view name);
/// Whether a function of this name belongs to MPI.
[[nodiscard]] bool is_mpi_name(std::string_view name);

/// Message size after nccl-tests of a collective over `members` ranks, of which this one holds `own` bytes:
/// its send buffer for gathers and all-to-all per peer, its receive buffer for scatters.
/// Source: nccl-tests doc/PERFORMANCE.md; the same convention as in observed Runs.
[[nodiscard]] Bytes whole_array(Bytes own, int members);

}  // namespace cox::trace
