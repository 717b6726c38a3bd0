// SPDX-License-Identifier: Apache-2.0
/// \file
/// What ranks need before their step, made by their nodes.
#pragma once

#include <span>
#include <vector>

#include "cox/base/units.hpp"

#include "simulate/training/plan/plan.hpp"

namespace cox::simulate::training {

/// Each rank's input is fetched over its node's link (or the job's storage), which those who fetch share evenly, then
/// prepared on the node's cores, one core each at most, evenly shared where they are fewer. A rank begins its step when
/// its input is there. Ahead of time: made while the step before runs, from when that one's input was taken.
/// Held by: src/simulate/training/step/input_test.cpp (hand-solved cases)
class NodeInput {
 public:
  /// Replicas [first, first + count) of a plan, which outlives it.
  NodeInput(const Plan& plan, int first, int count);

  /// When each unit begins, whose steps before ended at `now`; valid until the next call. Asked again within a step, it
  /// answers the same.
  [[nodiscard]] std::span<const Seconds> begins(std::span<const Seconds> now);
  /// Since when the next input is made: when each unit took the one before it. Empty where it is not made ahead.
  [[nodiscard]] const std::vector<Seconds>& made_from() const { return made_from_; }
  void next_step();
  /// The clock begins anew, so much later.
  void set_back(Seconds by);
  /// Another job.
  void reset();

 private:
  [[nodiscard]] bool ahead() const { return plan_.job().input.ahead; }
  /// When the input of each unit is there, made from these times on.
  void make(std::span<const Seconds> from);

  const Plan& plan_;
  std::size_t units_;
  std::vector<Seconds> made_from_;
  std::vector<Seconds> begins_;
  std::vector<Seconds> of_rank_;
  std::vector<std::vector<std::size_t>> of_node_;  ///< its ranks, from the first of these replicas on
};

}  // namespace cox::simulate::training
