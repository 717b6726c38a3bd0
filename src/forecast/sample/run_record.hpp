// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a Run tells of a job beside its ranks' own work: messages, work beside communication, the start, and how it ended.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/model/collective.hpp"

namespace cox::forecast {

/// Collectives of one kind and size among as many ranks, where all of them meet.
struct MessageTimes {
  model::Collective kind = model::Collective::Other;
  std::int64_t ranks = 0;
  bool one_node = false;  ///< all ranks of it
  Bytes bytes{};
  /// From the last rank's arrival to the last one's departure; where no clocks were read, the shortest stay.
  std::vector<Seconds> times{};
};

/// Communication that a rank started and did not stand in, behind the first step.
struct BackgroundTime {
  std::int64_t operations = 0;
  Seconds in_flight{};  ///< in which one was under way at least
  Seconds hidden{};     ///< of it, the rank was at work
};

/// A collective of all ranks that a library carried out beside their work, in one step. From the begin of that step.
struct BesideOperation {
  std::int32_t chain = 0;  ///< its communicator: one after the other
  model::Collective kind = model::Collective::Other;
  Bytes bytes{};
  Seconds arrival{};    ///< of the last rank, and of the operation before it
  Seconds departure{};  ///< of the last rank
};

/// A step in which all communication of all ranks runs beside their work until each waits for it.
struct OverlappedStep {
  Seconds work{};                             ///< until the last rank waits
  std::vector<BesideOperation> operations{};  ///< by chain and arrival
};

struct RunRecord {
  std::vector<MessageTimes> messages{};  ///< by kind, ranks, node and size, ascending; first step left out
  std::vector<BackgroundTime> background{};  ///< one for each rank that had some
  /// MPI's requests: an operation counts as under way until its wait returned. When it was done is not recorded.
  bool until_waits = false;
  std::vector<OverlappedStep>
      overlapped{};  ///< some, evenly over the Run; empty where steps are not so, or do not tell when
  std::int64_t overlapped_among = 0;  ///< ranks of each of their operations
  bool overlapped_in_node = false;    ///< all of these on one node
  std::optional<Seconds>
      startup{};              ///< from the start of the first process to the first step of the last rank
  std::int64_t ended = 0;     ///< ranks whose program did not end with status 0
  std::int64_t attempts = 0;  ///< times that the launcher had started the job before
  Seconds observed{};         ///< from the first record to the last; zero = not observed
};

}  // namespace cox::forecast
