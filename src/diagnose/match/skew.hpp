// SPDX-License-Identifier: Apache-2.0
/// \file
/// Per operation: who came when, who waited how long, and who was late by its own doing.
#pragma once

#include <cstdint>
#include <vector>

#include "cox/base/units.hpp"

#include "diagnose/match/matching.hpp"
#include "diagnose/match/steps.hpp"

namespace cox::diagnose {

/// How far times of different ranks may be compared.
struct ClockView {
  std::int64_t domains = 0;
  Duration residual{};
  bool comparable = false;
  /// Spread of ends over spread of begins after the ends were aligned; only where clocks differ. Above 0.5 a
  /// short duration does not mean a late arrival.
  double validity = 0;
  /// The same over the quarter of the operations with the widest spread of begins: above 0.5 not even a rank
  /// that is far behind can be told.
  double validity_of_wide = 0;
};

[[nodiscard]] ClockView look_at_clocks(const trace::Run& run, const Matching& m);

/// An operation whose members can be compared: all there, all hold each other, all with known work before it.
struct ComparedOp {
  std::int32_t group = -1;
  std::int64_t op = -1;
  std::int64_t step = -1;
};

struct Skew {
  /// [rank][step]: own work beyond the reference, summed over the step.
  std::vector<std::vector<Duration>> delay;
  std::vector<std::vector<Duration>> work;  ///< [rank][step]
  std::vector<std::vector<Duration>> wait;  ///< [rank][step]
  std::vector<Duration> wait_total;         ///< per rank, also outside of steps
  std::vector<Duration> charged;            ///< per rank
  std::vector<std::int64_t> last;           ///< per rank: operations in which it came last
  std::vector<std::int64_t> compared;       ///< per rank: operations in which it could be compared
  std::vector<ComparedOp> ops;              ///< within steps, in order of group and operation
  Duration lost{};                          ///< over steps: latest arrival minus median arrival
  Duration rooted_time{};                   ///< inside operations that tell nothing about who was late
  std::int64_t incomplete_ops = 0;          ///< holding operations of which a member is not known
};

/// Replaces `m.entry` by the arrival that counts (entry less time held up in rooted
/// operations, or own work where clocks differ) and `m.exit` by the
/// self-delay, for the operations in `ops`; frees `m.work` and `m.held`. Cost: O(cells).
[[nodiscard]] Skew measure_skew(const trace::Run& run, Matching& m, const Steps& steps,
                                bool clocks_comparable);

}  // namespace cox::diagnose
