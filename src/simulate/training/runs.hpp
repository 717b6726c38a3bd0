// SPDX-License-Identifier: Apache-2.0
/// \file
/// One replica of a training job, under any policy: what simulate_training repeats over seeds.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "cox/simulate/noise.hpp"
#include "cox/simulate/outcome.hpp"
#include "cox/simulate/training.hpp"

#include "simulate/training/plan.hpp"
#include "simulate/training/rank_groups.hpp"
#include "simulate/training/record.hpp"

namespace cox::simulate::training {

struct Played {
  std::vector<Seconds> step_ends;
  std::vector<Seconds> unit_ends{};  ///< of the last step
  std::int64_t messages = 0;
  std::int64_t evaluated = 0;  ///< as in Outcome
  bool closure = false;
  bool memo = false;
  std::vector<double> link_bytes{};    ///< as StepEngine::link_bytes
  std::vector<std::string> repeats{};  ///< as Noise::repeats
  /// What the ranks' time went into until the last of them was done, by RankGroups; empty: not known.
  std::vector<GroupAccount> accounts{};
  std::vector<NeighbourOutcome> neighbours{};
  Seconds late{};  ///< as StepEngine::late
  /// Where the job is paced, with what its controllers did; of mode off, where that was asked for.
  std::optional<PacedSummary> paced{};
  std::vector<PacedChange> changes{};
  std::int64_t changes_left_out = 0;
};

[[nodiscard]] Status check_synchronous(const model::Scenario& scenario);
[[nodiscard]] Meeting meeting_of(const model::Scenario& scenario, std::int64_t step);

using StepsDone = std::function<void(std::int64_t)>;

/// Synchronous and local SGD. `recorder` and `progress` may be empty. `pace` instead of the job's own; empty: that.
[[nodiscard]] Result<Played> play_steps(const Plan& plan, std::uint64_t seed, StepShortcuts shortcuts,
                                        Recorder* recorder, const StepsDone& progress,
                                        const std::optional<pace::Settings>& pace = {});
/// The others, by event time. `log` and `sink` may be null; a sink that says no ends it, and only that much is known then.
[[nodiscard]] Result<Played> play_policy(const Plan& plan, std::uint64_t seed, Recorder* recorder,
                                         PolicyOutcome* log, const UpdateSink* sink = nullptr);

}  // namespace cox::simulate::training
