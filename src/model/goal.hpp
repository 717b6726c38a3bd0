// SPDX-License-Identifier: Apache-2.0
/// \file
/// A schedule as GOAL text, for simulators that read it.
#pragma once

#include <iosfwd>

#include "cox/model/schedule.hpp"

namespace cox::model {

/// Writes all ranks (and, behind them, servers or switches). A message of a round requires what lets its rank
/// go on from the round before, as `Schedule` defines it; lanes are independent and have tags of their own.
/// Messages of one rank and round, and so all receives, are chained: no reader has to order receives that are
/// posted at once (LogGOPSim's own schedules fail there).
/// Source: Hoefler, Siebert, Lumsdaine 2009 (GOAL). Memory: O(1) where rounds are regular, else O(messages).
/// Errors: none; the state of `out` says whether it could be written. Held by: src/model/goal_test.cpp
void write_goal(const Schedule& schedule, std::ostream& out);

}  // namespace cox::model
