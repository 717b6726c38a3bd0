// SPDX-License-Identifier: Apache-2.0
/// \file
/// Programs whose collectives are whole (imported Chakra and PyTorch execution traces) over any fabric.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/ids.hpp"
#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/model/collective.hpp"
#include "cox/model/program.hpp"

namespace cox::simulate {

/// One collective of a communicator, when all of its members that the traces have are there.
struct CollectiveCall {
  std::span<const Rank> ranks;  ///< sorted
  int size = 0;                 ///< members as declared; at least as many as `ranks`
  model::Collective kind = model::Collective::Other;
  Bytes bytes{};  ///< the largest that a member says
  std::string_view communicator;
  std::int64_t number = 0;  ///< among those of the communicator
};

/// What the graphs are replayed over; the engines are plugged in here.
struct OperationCosts {
  /// Moves arrivals (one per rank of the call) to departures, none of them earlier than its arrival.
  std::function<void(const CollectiveCall&, std::span<Seconds> times)> collective;
  /// Of a message that nobody else disturbs, from start to complete arrival.
  std::function<Seconds(Rank from, Rank to, Bytes bytes)> message;
  /// Both ends wait for each other; else the sender goes on at once.
  bool rendezvous = true;
  /// One compute or memory operation of a rank at a time, in the order in which they become ready; else only
  /// the edges hold them.
  bool one_at_a_time = true;
  /// Roofline for operations that the trace gives no duration: bytes over this.
  /// Zero: such a trace is refused.
  Bandwidth memory{};
};

struct OperationOutcome {
  std::vector<std::vector<Seconds>> begin;  ///< per program, per operation
  std::vector<std::vector<Seconds>> end;
  std::vector<Rank> ranks;
  std::vector<Seconds> finish;  ///< per rank of `ranks`
  std::int64_t messages = 0;
  std::int64_t collectives = 0;
  std::vector<std::string> notes;  ///< what was assumed, one sentence each
};

/// Replays programs: each holds the operations of one rank or more; no rank is in two. Communicators
/// are the same where their names are. The k-th collective (send, receive) of a rank on a communicator, by
/// index, belongs with the k-th of the others. Recorded times are not used, nor are the durations of
/// communication. An operation that is neither computation, memory nor communication and has no duration
/// lasts none.
/// Errors: simulate-006 (no operations with edges; durations are missing; a message without its channel; ranks
///         twice), simulate-004 (cannot finish: the first blocked rank, its operation and what it waits for).
/// Cost:   O((operations + edges) log operations), bounded by construction. Deterministic.
/// Held by: src/simulate/event/operation_replay_test.cpp
[[nodiscard]] Result<OperationOutcome> replay_operations(std::span<const model::Program> programs,
                                                         const OperationCosts& costs);

}  // namespace cox::simulate
