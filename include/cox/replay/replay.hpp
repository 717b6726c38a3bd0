// SPDX-License-Identifier: Apache-2.0
/// \file
/// One max-plus evaluation of a program: when everything happens, why then, and what would change it.
///
/// Whoever asks has a program (from a recording or from a schedule) and replays what its operations wait for
/// with as many sets of durations as there are questions. The room knows no rank, no collective and no cause.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/model/program.hpp"

namespace cox::replay {

/// When each operation finished.
struct OperationTimes {
  std::vector<Duration> finish;
  Duration makespan{};                               ///< latest finish; zero where there is none
  model::OperationIndex last = model::kNoOperation;  ///< lowest of those that finish then
};

/// Evaluates what operations wait for.
///
/// Formula: begin(i) = max over p in before(i) of finish(p) + lag(p, i), or the release time, or zero;
///          finish(i) = begin(i) + duration(i).
/// Units:   durations as given; sums stop at the range of `Duration`.
/// Errors:  asserted: `durations` has another size; operations stand before what they wait for
///          (`Dependencies::is_ordered`). Negative durations count as zero.
/// Threads: none of its own; one program may be replayed by many threads at once.
/// Cost:    O(operations + edges), no allocation beyond the result.
/// Source:  Baccelli et al., Synchronization and Linearity (1992), section 2; max-plus recursion.
/// Held by: src/replay/replay_test.cpp, tests/property/replay_laws.cpp
[[nodiscard]] OperationTimes replay(const model::Dependencies& needs, std::span<const Duration> durations);
/// A program with its own durations; those that are not known count as zero.
[[nodiscard]] OperationTimes replay(const model::Program& program);
/// The same, where operations also begin no earlier than `release` (empty: no such times).
[[nodiscard]] OperationTimes replay(const model::Dependencies& needs, std::span<const Duration> durations,
                                    std::span<const Duration> release);
/// Only the makespan, reusing `finish` as working room.
[[nodiscard]] Duration makespan(const model::Dependencies& needs, std::span<const Duration> durations,
                                std::vector<Duration>& finish);

/// The operations that decide the makespan, first to last; among equal predecessors the lowest counts.
/// Durations and lags along it, and the release of its first operation, add up to the makespan (where nothing
/// stopped at the range of `Duration`). Cost: O(edges into the path).
[[nodiscard]] std::vector<model::OperationIndex> critical_path(const model::Dependencies& needs,
                                                               std::span<const Duration> durations,
                                                               const OperationTimes& timeline);

/// How much longer each operation could last without moving the makespan (0 on the critical path).
/// Formula: latest(i) = min(makespan, min over successors j of latest(j) - duration(j) - lag(i, j));
///          slack(i) = latest(i) - finish(i). Source: Kelley, Walker 1959 (critical path method).
/// Cost: O(operations + edges).
[[nodiscard]] std::vector<Duration> slack(const model::Dependencies& needs,
                                          std::span<const Duration> durations,
                                          const OperationTimes& timeline);

/// How the makespan answers to a small change: one sided derivatives by class of operation.
/// `classes[i]` is the class of operation i, below `count`. Result[c] = d makespan / d x, where every
/// duration of class c is longer by x times its weight; weights empty = 1 each (so the result counts
/// operations on the path); weights = bytes gives the answer to a change of time per byte, weights = messages
/// to a change of latency. Where several paths are equally long, this is the answer along the given one.
[[nodiscard]] std::vector<double> sensitivities(std::span<const model::OperationIndex> path,
                                                std::span<const std::uint32_t> classes, std::size_t count,
                                                std::span<const double> weights = {});

}  // namespace cox::replay
