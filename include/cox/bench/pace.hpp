// SPDX-License-Identifier: Apache-2.0
/// \file
/// Real processes that do what a `model::Iteration` says, under several arms in turn: the live half of the
/// evaluation of pacing. They are a program of their own, `cox-bench-pace`; this is its plan and its answer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/model/iteration.hpp"
#include "cox/pace/decision.hpp"

namespace cox::bench {

/// One way of running: a controller, another wait mode or another priority. All fields default = plain.
struct PlannedArm {
  std::string name{};
  std::string settings{};                ///< for `pace::set_all`; empty = no controller
  std::optional<pace::WaitMode> wait{};  ///< instead of the job's
  int nice = 0;                          ///< of ranks while they are slow; 0 = as they are
};

/// Steps under one arm. Two blocks with the same `first_draw` have the same draws, step by step.
struct PaceBlock {
  std::uint32_t arm = 0;
  std::int64_t steps = 0;
  std::int64_t first_draw = 0;
  bool cold = true;  ///< the arm's controllers begin anew; else they go on where its last block ended
};

/// Traffic of others on the uplink: on or off for `episode` steps at a time,
/// drawn by step like everything else.
struct PaceBackground {
  double share = 0;  ///< of the episodes that are on; 0 = none
  std::int64_t episode = 4;
  /// Whether it is on in the step with this draw. Episodes come in antithetic pairs, u and 1 - u, on where
  /// that is below `share`: each is on with that probability, and two blocks see nearly equal shares of it
  /// (of a half: exactly one of every pair). Held by: src/bench/pace/background_test.cpp
  [[nodiscard]] bool is_on(std::uint64_t seed, std::int64_t draw) const;
};

struct PacePlan {
  model::Iteration job{};
  std::uint64_t seed = 1;
  PaceBackground background{};
  std::vector<PlannedArm> arms{};
  std::vector<PaceBlock> blocks{};
};

/// One step as all ranks saw it.
struct PaceStep {
  Duration period{};  ///< rank 0's, from the end of a synchronisation to the end of the next
  Duration longest_wait{};
  Duration mean_wait{};  ///< over ranks, in the synchronisation
  Duration longest_delay{};
  Duration mean_delay{};
  Duration draw{};                                ///< largest drawn compute time of the ranks
  pace::Reason reason = pace::Reason::Observing;  ///< of rank 0
  int holding = 0;                                ///< ranks in state Hold
  int trying = 0;                                 ///< ranks in state Probe or Trial
};
struct PaceBlockRows {
  PaceBlock block{};
  double steal_ratio = 0;  ///< of the machine's processor time, taken away by its host
  std::vector<PaceStep> steps{};
};
/// One rank under one arm, over all its steps.
struct PaceRankSums {
  std::uint32_t arm = 0;
  int rank = 0;
  std::int64_t steps = 0;
  Duration work{};
  Duration wait{};
  Duration delay{};
};
struct PaceRows {
  std::vector<PaceBlockRows> blocks{};  ///< as in the plan
  std::vector<PaceRankSums> ranks{};
};

struct PaceRunOptions {
  std::filesystem::path program{};  ///< `cox-bench-pace`
  Seconds limit{3600};              ///< then everything is killed
};
/// Runs a plan. Whatever ends the program, its processes and networks end with it.
/// Errors: bench-006 (it did not work), bench-009, bench-010 (this machine cannot: the message says why).
[[nodiscard]] Result<PaceRows> run_pace(const PacePlan& plan, const PaceRunOptions& options);

/// Whether this process may raise its priority and take it back; the reason where it may not.
[[nodiscard]] std::optional<std::string> why_no_priority();

}  // namespace cox::bench
