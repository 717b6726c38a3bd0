// SPDX-License-Identifier: Apache-2.0
/// \file
/// How far the days of a training can be told: with what stops the job, and what a step takes, drawn again.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cox/forecast/control.hpp"
#include "cox/model/scenario.hpp"

#include "forecast/checkpoints/days.hpp"
#include "forecast/checkpoints/drawn_failures.hpp"

namespace cox::forecast {

/// Steps that were asked for are remembered. `between`: sizes between two that are at most a fifth apart are a line in ln nodes of what
/// steps take there, with as many tokens as nodes. Copies share what they remember. Threads: one at a time.
class RememberedSteps {
 public:
  RememberedSteps(BudgetAt steps, bool between);
  [[nodiscard]] BudgetAt exact() const;
  [[nodiscard]] BudgetAt near() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Nine in ten of 20 draws, the same at each size: steps by `drawn_steps`, the draws of bends and of levers; failures, restarts, checkpoints and start within
/// the prior, as in the band of goodput. Checkpoints are written as often as without a draw: who sets an interval does not know it.
class DrawnDays {
 public:
  DrawnDays(model::Scenario scenario, BudgetAt steps, const Training& training, const DrawnStep& drawn_steps,
            const Prior& prior);
  /// Fills `band`; nothing where nothing is drawn. Cost: 20 x `days`.
  void add_to(Days& days) const;
  /// Fills the nodes that each draw needs. Cost: 20 x `nodes_for`.
  void add_to(NodesFor& nodes, Seconds within, std::int64_t multiple) const;

 private:
  struct Draw {
    model::Scenario scenario;
    BudgetAt steps;
  };
  [[nodiscard]] Draw draw(int replicate) const;

  model::Scenario scenario_;
  BudgetAt steps_;
  double tokens_;
  DrawnStep drawn_steps_;
  StatedRanges ranges_;
  std::vector<FailureDraw> failures_;
};

}  // namespace cox::forecast
