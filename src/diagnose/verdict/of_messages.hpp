// SPDX-License-Identifier: Apache-2.0
/// \file
/// Who is slow where ranks meet through messages alone: all with one, a server and those who wait for it; or stages of a pipeline.
#pragma once

#include <vector>

#include "cox/diagnose/finding.hpp"

#include "diagnose/match/matched.hpp"

namespace cox::diagnose {

/// The server where it holds the others up, then workers that work longer between two waits than the others; most first.
///
/// A turn is what a rank does from one message that it waited for to the next, waits taken off; of a worker's those that are shorter than a
/// twentieth of the mean are none: they lie between the parts of a message. The server is the one rank
/// that 19 of 20 waits of each other rank name, with at least 20 turns.
/// Formula: a worker is named where the median of its turns is at least 1.2 times the others' (the median of their medians, of
///          two and more), so much longer that it is a twentieth of what a turn and its wait take, and more of its turns are
///          longer than three of four of another's (the median over the others) than chance gives (binomial, p < 1e-4 over all workers, of as many turns
///          as the others' correlation from turn to turn leaves: speeds that wander are no lasting difference; or the mean of their logarithm is five errors of a difference of means off). The server is
///          named where it works for more than half of its time, without what its samples say that it lacked a CPU, and some worker waits for
///          a fifth of its own while it does.
///          At most that would be saved; of a worker at most its excess over all turns, of the time from its first wait to its last.
/// Where all ranks mark steps with their ways forth and back (PhaseKind::Forward, Backward), they are stages, and none is a server: a turn is what these take
/// of a step, and a rank is named as a worker is. Stages have unlike work by nature: whoever has a fifth more than the usual one holds the
/// pipeline up.
/// Where clocks cannot be compared, the server is not asked. Empty where there is no server and there are no stages, and where workers or
/// server wait on several threads. Cost: O(waits log waits).
/// Held by: src/diagnose/verdict/of_messages_test.cpp, tests/e2e/train/served_test.sh, pipeline_test.sh
[[nodiscard]] std::vector<Finding> findings_of_messages(const Matched& matched);
/// Whether ranks meet through messages alone, and all mark steps with their ways forth and back. Cost: O(events).
[[nodiscard]] bool are_stages(const Matched& matched);

}  // namespace cox::diagnose
