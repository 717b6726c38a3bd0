// SPDX-License-Identifier: Apache-2.0
/// \file
/// How the job ended, and which rank ended first.
#pragma once

#include <optional>
#include <vector>

#include "cox/diagnose/stall.hpp"

#include "diagnose/match/matched.hpp"

namespace cox::diagnose {

/// Puts `absent_from` into an ending, from calls that never returned, and who was absent as `first`: who was seen to end first, in order, outside of any call, and holds
/// up a call of the others. An exception outside of a call looks like that, and a rank that has fewer steps. Nobody where the ends were
/// not seen (a rank that is told to end may end in order, too), or the job was told to end.
/// Held by: src/diagnose/stall/ending_test.cpp, tests/e2e/first_end_test.py
void find_absent(Ending& ending, const std::vector<Stall>& stalls);

/// Nothing where the command ended with status 0, or its end is not known. Who was first is told by the ranks'
/// own ends where `cox observe` ran once per rank; else by the records, where its samples end well before any
/// other's. All but `text`.
/// Held by: src/diagnose/stall/ending_test.cpp
[[nodiscard]] std::optional<Ending> find_ending(const Matched& matched);

}  // namespace cox::diagnose
