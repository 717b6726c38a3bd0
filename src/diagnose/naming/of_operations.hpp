// SPDX-License-Identifier: Apache-2.0
/// \file
/// Names from operations instead of steps: where steps are too few to be counted, and where operations lack members.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cox/base/ids.hpp"
#include "cox/base/units.hpp"

#include "diagnose/match/matched.hpp"
#include "diagnose/match/presence.hpp"
#include "diagnose/naming/naming.hpp"

namespace cox::diagnose {

/// A named set with what it rests on.
struct NamedOver {
  Named named;
  std::string kind;             ///< operations before which it is late, "AllReduce of 4 MB"; empty: all
  Duration delay{};             ///< median over them of (own work - the centre of those present)
  std::int64_t operations = 0;  ///< that were compared
  std::int64_t late = 0;        ///< of them, those in which it was clearly late
  std::vector<Rank> together;   ///< all that are named so, this one too
};

/// Whether operations are asked: fewer steps than naming needs, or every tenth operation lacks a member.
[[nodiscard]] bool asks_operations(const Evidenced& x, const Presence& presence);
/// Whether they are asked where steps named nobody: so few steps that no rank could be late in enough of them, each with
/// many operations. A pattern that repeats may be ten of the program's steps with a sum for its log behind them.
[[nodiscard]] bool asks_operations_after(const Evidenced& x);

/// Ranks whose own work before operations of a kind, or of all kinds, is longer than that of those present in the
/// same operations, most costly first. `find_late_over` says who; together they must save `least_operations_gain` of the time
/// that the operations span. Where an operation lacks a member, savings are those among the ones present.
/// Cost: a few passes over the calls. Held by: src/diagnose/naming/of_operations_test.cpp, tests/accuracy_operations
[[nodiscard]] std::vector<NamedOver> name_over_operations(const Evidenced& x, Duration run_time);

}  // namespace cox::diagnose
