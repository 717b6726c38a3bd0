// SPDX-License-Identifier: Apache-2.0
/// \file
/// Pacing of training steps: early units are held back before the step in which they would wait.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/pace/controller.hpp"
#include "cox/simulate/outcome.hpp"

#include "simulate/record/pace_tally.hpp"
#include "simulate/training/account/record.hpp"
#include "simulate/training/step/step.hpp"

namespace cox::simulate::training {

/// One controller (that of live jobs) for each unit, whose ranks move as one; its group are the replicas of its
/// stage. An iteration lies between the ends of two steps in which replicas meet. What the unit stands still for
/// its data collectives is told as synchronisation, with the transfer in it; waits for stages and for experts are
/// told as those of other groups. It watches every step.
/// Mode off has no controllers and adds up what units waited for. Held by: src/simulate/training/step/step_pacing_test.cpp
class StepPacing : public Watcher {
 public:
  StepPacing(const Plan& plan, const pace::Settings& settings);
  /// By how much later than it could each unit begins the step that follows; empty in mode off.
  [[nodiscard]] std::span<const Seconds> holds() const { return holds_; }
  /// The holds of step `step`, of units that could begin at `now`, as records.
  void record(std::int64_t step, std::span<const Seconds> now, Recorder& recorder) const;
  /// The step that was watched is over, for each unit at `now`; `meets` if replicas met in it.
  void close_step(std::int64_t step, bool meets, std::span<const Seconds> now);
  /// By how much each unit was held back in all steps so far.
  [[nodiscard]] std::span<const Seconds> held() const { return tally_.delays(); }
  /// All ranks', with the changes of the controllers' mind.
  [[nodiscard]] PacedSummary summary() const;
  [[nodiscard]] const std::vector<PacedChange>& changes() const { return changes_; }
  [[nodiscard]] std::int64_t changes_left_out() const { return changes_left_out_; }

  void received(int unit, const Instruction& i, Seconds begin, Seconds leaves, Seconds arrives) override;
  void met(const Gathering& g) override;
  void awaited(int unit, const Instruction& i, Seconds begin, Seconds alone, Seconds end) override;

 private:
  static constexpr std::uint32_t kStages = 0;  ///< other groups
  static constexpr std::uint32_t kExperts = 1;
  /// Of the iteration so far.
  struct Passing {
    Seconds began{};
    Seconds held{};
    Seconds sync{};
    Seconds alone{};  ///< part of it before the last member had come
    Seconds of_stages{};
    Seconds of_experts{};
  };
  void observe(std::int64_t step, std::size_t unit, Seconds now);

  const Plan& plan_;
  pace::Settings settings_;
  std::vector<pace::Controller> controllers_;  ///< empty in mode off
  std::vector<pace::Decision> decisions_;
  std::vector<Seconds> holds_;
  std::vector<Passing> passing_;
  std::vector<Seconds> delays_, waits_;  ///< of the step, per unit
  std::uint64_t iterations_ = 0;
  Seconds last_end_{};
  PaceTally tally_;
  std::vector<PacedChange> changes_;
  std::int64_t changes_left_out_ = 0;
};

/// Plays a step, with what `pacing` holds back in it. `watcher`, `recorder` (of the holds only) and `pacing` may be null.
[[nodiscard]] Status play_paced(StepEngine& engine, std::int64_t step, Meeting meeting,
                                std::span<Seconds> now, Watcher* watcher, Recorder* recorder,
                                StepPacing* pacing);

}  // namespace cox::simulate::training
