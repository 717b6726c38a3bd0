// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs side by side, of which only the times of their steps are compared: which are equal, which is slower,
/// which has stalls that the others have not.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/diagnose/runs.hpp"

namespace cox::diagnose {

struct RunFigures {
  std::string name;
  std::int64_t steps = 0;
  Duration median{};
  double error_ratio = 0;   ///< standard error of the median, over it, neighbours not taken as independent
  std::int64_t stalls = 0;  ///< steps above 1.2 times the median, neighbours counted once
  double stall_cost_ratio = 0;    ///< of all time, what they took beyond the median
  int level = 0;                  ///< runs of one level are equal; 0 is the fastest
  bool stalls_stand_out = false;  ///< more than the others have, by chance less than 5e-3
};

/// Runs of one kind.
struct RunGroup {
  std::string name;              ///< what their names have in common; may be empty
  std::vector<RunFigures> runs;  ///< in the order given
  int levels = 1;
  double least_seen_ratio = 0;  ///< a difference between any two that would have been seen
};

/// Formula: a run is slower where its median is 1 % off and beyond a Student quantile of the two standard errors,
///          corrected for the pairs; runs between which no neighbour by median differs are one level. The
///          first step is left out. Stalls: binomial, against the stalls of the others.
/// Runs of fewer than 10 steps and kinds with a single run are left out. Cost: O(n log n).
/// Held by: src/diagnose/over_time/compare_runs_test.cpp
[[nodiscard]] std::vector<RunGroup> compare_runs(std::span<const RunTimes> runs);
/// The groups in words; empty where there is none.
[[nodiscard]] std::vector<std::string> run_lines(const std::vector<RunGroup>& groups);
/// Schema `cox.runs/1`. `warnings`: what of the input could not be used.
[[nodiscard]] std::string to_json(const std::vector<RunGroup>& groups, const std::string& input,
                                  const std::vector<std::string>& warnings = {});

}  // namespace cox::diagnose
