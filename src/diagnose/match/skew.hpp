// SPDX-License-Identifier: Apache-2.0
/// \file
/// Per operation: who came when, who waited how long, and who was late by its own doing.
#pragma once

#include <cstdint>
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
  Duration reference{};  ///< lower median of the members' own work before it
};

struct Skew {
  /// [rank][step]: own work beyond the reference, summed over the step.
  std::vector<std::vector<Duration>> delay;
  std::vector<std::vector<Duration>> work;  ///< [rank][step]
  std::vector<std::vector<Duration>> wait;  ///< [rank][step]
  std::vector<Duration> wait_total;         ///< per rank, also outside of steps; without exchanges
  std::vector<Duration> charged;            ///< per rank
  std::vector<std::int64_t> last;           ///< per rank: operations in which it came last
  std::vector<std::int64_t> compared;       ///< per rank: operations in which it could be compared
  std::vector<ComparedOp> ops;              ///< within steps, in order of group and operation
  Duration lost{};                          ///< over steps: latest arrival minus median arrival
  Duration rooted_time{};                   ///< inside operations that tell nothing about who was late
  std::int64_t incomplete_ops = 0;          ///< holding operations of which a member is not known
};

/// Cost: O(cells).
[[nodiscard]] Skew measure_skew(const Matching& m, const Steps& steps, bool clocks_comparable);

/// When a member would have come had no rooted operation held it up on the way: a root that waits for a late
/// rank there comes last here, by no fault of its own. Where clocks differ its own work stands for it.
[[nodiscard]] inline Duration arrival_at(const Matching& m, std::size_t cell, bool clocks_comparable) {
  if (!clocks_comparable) return m.work[cell];
  return m.held.empty() ? m.entry[cell] : minus_clamped(m.entry[cell], m.held[cell]);
}

/// By how much the own work of a member of a compared operation was longer than the reference.
[[nodiscard]] inline Duration delay_at(const Matching& m, const ComparedOp& op, std::size_t cell) {
  return minus_clamped(m.work[cell], op.reference);
}

}  // namespace cox::diagnose
