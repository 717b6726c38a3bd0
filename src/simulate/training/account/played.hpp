// SPDX-License-Identifier: Apache-2.0
/// \file
/// One replica of a training job as it was played, under any policy: what simulate_training repeats over seeds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/simulate/outcome.hpp"

#include "simulate/training/plan/rank_groups.hpp"

namespace cox::simulate::training {

struct Played {
  std::vector<Seconds> step_ends;
  std::vector<Seconds> unit_ends{};  ///< of the last step
  std::int64_t messages = 0;
  std::int64_t evaluated = 0;  ///< as in Outcome
  bool closure = false;
  bool memo = false;
  std::vector<double> link_bytes{};        ///< as StepEngine::link_bytes
  std::optional<PortLoad> busiest_port{};  ///< of backup workers whose links are not played
  std::vector<std::string> repeats{};      ///< as Noise::repeats
  /// What the ranks' time went into until the last of them was done, by RankGroups; empty: not known.
  std::vector<GroupAccount> accounts{};
  std::vector<NeighbourOutcome> neighbours{};
  Seconds late{};  ///< as StepEngine::late
  /// Where the job is paced, with what its controllers did; of mode off, where that was asked for.
  std::optional<PacedSummary> paced{};
  std::vector<PacedChange> changes{};
  std::int64_t changes_left_out = 0;
};

}  // namespace cox::simulate::training
