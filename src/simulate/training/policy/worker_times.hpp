// SPDX-License-Identifier: Apache-2.0
/// \file
/// What ranks' time goes into where workers have no common steps.
#pragma once

#include <span>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/simulate/training.hpp"

#include "simulate/training/plan/rank_groups.hpp"
#include "simulate/training/step/step.hpp"

namespace cox::simulate::training {

/// The accounts of workers that each go through their steps: computing and what belongs to it is the step engine's;
/// from a step's end on, a worker waits as its policy makes it, and else stands still for what it sends and reads. What
/// a worker would do after the job's end is left out; of a step that the end cuts off, each part in proportion.
/// Held by: src/simulate/training/policy/worker_times_test.cpp
class WorkerTimes {
 public:
  /// `engines`: one that has the replicas of one worker after the other, or one for each worker. They outlive it.
  WorkerTimes(const Plan& plan, std::vector<StepEngine*> engines, int workers, int replicas);
  /// The next step that its engine keeps account of is that of worker `w`.
  void begin(int w);
  /// It was, from `begin` on; its units ended at `ends`, the last of them at `end`.
  void computed(int w, Seconds begin, std::span<const Seconds> ends, Seconds end);
  /// Of what follows, so much is waiting for others.
  void waited(int w, Seconds time);
  /// What follows is over.
  void stopped(int w, Seconds at);
  /// Of all workers until the job's end.
  [[nodiscard]] std::vector<GroupAccount> close(Seconds total);

 private:
  struct Worker {
    Seconds begin{};  ///< of its last step
    Seconds end{};    ///< of its last step, or of what followed it
    Seconds waited{};
    bool in_step = false;          ///< nothing has followed it
    std::vector<StepParts> parts;  ///< of its last step, where the end may cut it off
  };
  [[nodiscard]] std::span<const int> units_of(int w) const {
    return std::span(groups_.of_unit).subspan(static_cast<std::size_t>(w) * units_, units_);
  }
  [[nodiscard]] StepEngine& engine(int w) const {
    return *engines_[static_cast<std::size_t>(w) % engines_.size()];
  }
  void add(int w, StepPart part, Seconds time);

  const Plan& plan_;
  std::vector<StepEngine*> engines_;
  RankGroups groups_;
  std::size_t units_;  ///< of a worker
  bool may_cut_;
  std::vector<Worker> workers_;
  std::vector<StepParts> before_;  ///< the engine's accounts before the step
  std::vector<StepParts> more_;    ///< beside the engine's
};

}  // namespace cox::simulate::training
