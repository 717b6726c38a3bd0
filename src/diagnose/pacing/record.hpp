// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the controllers of a Run left behind, what that brought, and the same controllers again.
#pragma once

#include <optional>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/diagnose/pacing.hpp"

#include "diagnose/match/matched.hpp"

namespace cox::diagnose {

/// Locality fact under which a guest records its settings, as `pace::set_all` reads them.
inline constexpr const char* kPaceSettingsFact = "cox/pace/settings";

/// Nothing where the Run holds no Pace record of a communicator that it knows.
/// Cost: linear in events. Held by: src/diagnose/pacing/pacing_test.cpp
[[nodiscard]] std::optional<PacingRecord> read_pacing(const Matched& matched);

/// Baseline against control from the Run's own test blocks: iterations before which nobody was held back and
/// somebody's test wanted it so (BlockOff, HoldOff) against those of the same pair of blocks in which
/// somebody was (BlockPaced, Holding). Only pairs that have both; the first `settle` iterations of each
/// block, and after a change of arm within one, left out.
///
/// Formula: period = mean over ranks of the time between the ends of two synchronisations; wait = time inside
///          less the shortest time that any member was inside; energy of an iteration = mean over ranks of
///          (period - (1 - idle_power) x delay served), in seconds at full power: estimated, not measured.
/// Source:  percentile bootstrap over pairs (Efron 1979; blocks: Künsch 1989), fixed seed, 400 draws.
/// Nothing where there is no such pair; modes that do not test (paper, always, random) have none.
/// Cost: linear in events, plus the draws (at most 2,048 pairs are used, thinned evenly).
/// Held by: src/diagnose/pacing/pacing_test.cpp
[[nodiscard]] std::optional<PacingComparison> compare_blocks(const Matched& matched,
                                                             const PacingRecord& record);
/// The same figures for two Runs of one job, all iterations of each: blocks as long as a pair are resampled,
/// each Run by itself. Two starts of one job also differ in placement and machine state, which no interval
/// shows. Nothing where one of them has fewer than two blocks.
[[nodiscard]] std::optional<PacingComparison> compare_runs(const Matched& baseline, const Matched& control);

/// Feeds the synchronisations of the paced group (of a Run that was not paced: of its largest communicator)
/// to a controller per rank, as the guest fed them. With the recorded settings the decisions must be the
/// recorded ones: same state and reason at every iteration, delays within 1 us and 1 % (times in a Run are
/// rounded to its clock).
/// Errors: pace-001 (no group of two ranks that iterates), pace-002 (no such rank).
/// Cost: O(1) per synchronisation. Threads: none. Held by: src/diagnose/pacing/pacing_test.cpp
[[nodiscard]] Result<std::vector<PaceReplay>> replay_pacing(const Matched& matched,
                                                            const ReplayOptions& options = {});

}  // namespace cox::diagnose
