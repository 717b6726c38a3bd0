// SPDX-License-Identifier: Apache-2.0
/// \file
/// What each rank of a pipeline computes beyond its like in a step, and what the Run would take without it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/model/program.hpp"

#include "diagnose/operations/operation_what_if_model.hpp"

namespace cox::diagnose {

/// Arrivals say little in a pipeline, where who is late has mostly waited for its neighbour. Ranks of one stage compute alike,
/// so what one of them computes longer is its own.
///
/// Formula: excess = what it does by itself in a step (passes, optimizer, what is unknown) - lower median of those of the same stage and tensor rank, not
///          below zero; zero where there is one such rank in that step. It is taken from operations by what each exceeds the usual one by.
/// Threads: `saved` is not to be called by two at once.
/// Held by: src/diagnose/verdict/stage_findings_test.cpp
class StageCompute {
 public:
  /// `steps`: their numbers, ascending; `model` is that of the program, and outlives this. Cost: O(operations log operations).
  StageCompute(const OperationModel& model, const model::Program& program,
               std::span<const std::int64_t> steps);

  /// [index into the program's ranks][index into `steps`]
  [[nodiscard]] const std::vector<std::vector<Duration>>& excess() const { return excess_; }

  /// What each does by itself, alike.
  [[nodiscard]] const std::vector<std::vector<Duration>>& computed() const { return computed_; }
  [[nodiscard]] const std::vector<model::Role>& roles() const { return roles_; }

  /// Whether each of these ranks is late by more than half of its mean excess in three steps of four: for good, not now and then.
  [[nodiscard]] bool lasts(const std::vector<std::size_t>& ranks) const;
  /// By how much the Run would be shorter had these ranks computed as their like in these steps. Cost: one replay.
  [[nodiscard]] Duration saved(const std::function<bool(std::size_t rank, std::size_t step)>& picks);
  /// The change that this asks: durations of the model's nodes as those of their like.
  void put_right(const std::function<bool(std::size_t rank, std::size_t step)>& picks,
                 std::vector<Duration>& durations) const;

 private:
  void find_usual();
  void compare(const model::Program& program, std::span<const std::int64_t> steps);

  const OperationModel& model_;
  std::vector<model::Role> roles_;  ///< per rank of the program
  std::vector<Duration> usual_;  ///< per node: of its stage, tensor rank and type over the Run, lower median
  std::vector<bool> own_;        ///< per type: done by a rank itself
  std::vector<std::vector<Duration>> computed_;
  std::vector<std::vector<Duration>> excess_;
  std::vector<std::int32_t> step_of_;  ///< per node of the model: index into `steps`, -1 where there is none
  Duration recorded_{};                ///< the replay of what was recorded
  std::vector<Duration> durations_;
  std::vector<Duration> finish_;
};

}  // namespace cox::diagnose
