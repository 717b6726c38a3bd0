// SPDX-License-Identifier: Apache-2.0
/// \file
/// Per operation: who came when, who waited how long, and who was late by its own doing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cox/base/units.hpp"

#include "diagnose/match/matching.hpp"
#include "diagnose/match/span_math.hpp"
#include "diagnose/match/steps.hpp"

namespace cox::diagnose {

/// An operation whose members can be compared: all there, all hold each other, all with known work before it.
struct ComparedOp {
  std::int32_t group = -1;
  std::int64_t op = -1;
  std::int64_t step = -1;
  Duration reference{};    ///< lower median of the members' own work before it
  Duration lost{};         ///< latest arrival minus median arrival
  std::int32_t last = -1;  ///< place in the group of who came last; the lowest of equals
};

/// What all members of an operation are held against. Who worked and waited how long follows from it and the cells.
struct OpFacts {
  /// When the last member came, where clocks differ the shortest time inside;
  /// kUnknown where it is not told who waited.
  Duration bar = kUnknown;
  Duration reference = kUnknown;  ///< as in ComparedOp; kUnknown where members cannot be compared
  std::int32_t step = -1;         ///< -1: outside of all
};

struct Skew {
  std::vector<OpFacts> facts;          ///< per `Matching::ops`
  std::vector<Duration> wait_total;    ///< per rank, also outside of steps; without exchanges
  std::vector<Duration> charged;       ///< per rank
  std::vector<std::int64_t> last;      ///< per rank: operations in which it came last
  std::vector<std::int64_t> compared;  ///< per rank: operations in which it could be compared
  std::vector<ComparedOp> ops;         ///< within steps, in order of group and operation
  Duration lost{};                     ///< over steps: latest arrival minus median arrival
  Duration rooted_time{};              ///< inside operations that tell nothing about who was late
  std::int64_t incomplete_ops = 0;     ///< holding operations of which a member is not known
};

/// Cost: O(cells). Threads: blocks of operations, then blocks of ranks; the same for any number.
[[nodiscard]] Skew measure_skew(const Matching& m, const Steps& steps, bool clocks_comparable, int threads);

enum class InStep : std::uint8_t {
  Delay,  ///< own work beyond the reference
  Work,   ///< own work
  Wait,   ///< for the last member
};

using StepTable = std::vector<std::vector<Duration>>;  ///< [rank][step]

/// [index into `ranks`][step]: sums over the operations of each step. `ranks` ascend. Made when it is asked for: kept,
/// it would be as large as the cells. Cost: O(cells of these ranks); a few neighbours cost as much as one.
[[nodiscard]] StepTable sum_by_step(const Matching& m, const Skew& skew, std::int64_t steps,
                                    bool clocks_comparable, InStep what, std::span<const std::int32_t> ranks,
                                    int threads);

/// When a member would have come had no rooted operation held it up on the way: a root that waits for a late
/// rank there comes last here, by no fault of its own. Where clocks differ its own work stands for it.
[[nodiscard]] inline Duration arrival_at(const Matching& m, std::size_t cell, bool clocks_comparable) {
  if (!clocks_comparable) return m.work[cell];
  return m.held.empty() ? m.entry[cell] : minus_clamped(m.entry[cell], m.held[cell]);
}

/// How long a member waited for the last one, where `bar` is known.
[[nodiscard]] inline Duration wait_at(const Matching& m, const OpFacts& op, std::size_t cell,
                                      bool clocks_comparable) {
  const Duration inside = minus_clamped(m.exit[cell], m.entry[cell]);
  if (!clocks_comparable) return minus_clamped(inside, op.bar);
  return std::min(minus_clamped(op.bar, m.entry[cell]), inside);
}

/// By how much the own work of a member of a compared operation was longer than the reference.
[[nodiscard]] inline Duration delay_at(const Matching& m, const ComparedOp& op, std::size_t cell) {
  return minus_clamped(m.work[cell], op.reference);
}

}  // namespace cox::diagnose
