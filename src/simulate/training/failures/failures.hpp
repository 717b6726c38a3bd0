// SPDX-License-Identifier: Apache-2.0
/// \file
/// Steps of given lengths, played through the start and the failures of a job.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/model/scenario.hpp"

namespace cox::simulate {

/// Where a job's time went: total = start + work + write + rework + restart + repair + cold.
struct FailureOutcome {
  Seconds total{};
  Seconds start{};    ///< before the first step, or the first failure
  Seconds work{};     ///< steps that counted
  Seconds write{};    ///< for which checkpoints held up the job, those included that a failure cut off
  Seconds rework{};   ///< steps that a failure undid
  Seconds restart{};  ///< from a failure, or from when there are nodes enough, to the first step after it
  Seconds repair{};   ///< from a failure until there are nodes enough
  Seconds cold{};     ///< what steps after a restart took longer
  std::int64_t failures = 0;
  std::vector<std::int64_t> of_class{};  ///< of them, by class of the scenario; nodes' and the job's own not
  std::vector<Seconds> step_ends;        ///< of the last time that each step was done
};
/// Plays steps of given lengths through the start and the failures of a scenario: docs/concepts/failures.md. A
/// checkpoint is taken at the first step end that lies at least `checkpoint_interval` of work behind the last one, when
/// that is complete; a failure stops the whole job, which goes back to the last complete checkpoint after a restart;
/// nodes fail while restarting and writing, too, and are new after they failed. Oracle, for exponential laws, per second
/// of work: M e^((R + W)/M) (e^((tau + C)/M) - 1) / tau (Daly 2006; W, the write beside the steps, is lost once
/// more). Errors: simulate-003 where 100,000 failures happen without progress. Deterministic.
/// Held by: src/simulate/training/failures/failures_test.cpp, failure_classes_test.cpp (within 3 standard errors)
[[nodiscard]] Result<FailureOutcome> run_with_failures(std::span<const Seconds> steps,
                                                       const model::Scenario& scenario, std::uint64_t seed);
/// Of `nodes` nodes of one device, without a start.
[[nodiscard]] Result<FailureOutcome> run_with_failures(std::span<const Seconds> steps,
                                                       const model::Failures& failures, int nodes,
                                                       std::uint64_t seed);

}  // namespace cox::simulate
