// SPDX-License-Identifier: Apache-2.0
/// \file
/// Jobs that synchronise by messages alone: the n-th exchange of all ranks taken as an operation of all.
#pragma once

#include <vector>

#include "diagnose/match/message_waits.hpp"
#include "diagnose/match/scan.hpp"

namespace cox::diagnose {

/// Fills in `RankScan::exchanges` where collectives are few and every rank receives numbered messages alike: the n-th exchange of a rank is its first call that waits for a message of number n,
/// and one is told where every rank has it. A Run with many collectives is left as it is,
/// and so is one whose ranks wait for one server that does not wait for all of them.
///
/// Ranks do not meet in an exchange as in a collective: one that is d neighbours away from a late rank may be d
/// exchanges ahead of it. Over many exchanges all go at the pace of the slowest, so who has more work of its
/// own in them is told as for collectives, and what that costs up to the start and the end of the Run.
///
/// Cost: O(waits). Held by: src/diagnose/match/message_waits_test.cpp
void find_exchanges(const trace::Run& run, const MessageWaits& waits, std::vector<RankScan>& scans);

}  // namespace cox::diagnose
