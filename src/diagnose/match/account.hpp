// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where the time of a whole job went.
#pragma once

#include <vector>

#include "cox/base/units.hpp"
#include "cox/diagnose/account.hpp"

#include "diagnose/match/matched.hpp"

namespace cox::diagnose {

struct TimeAccount {
  Duration run_time{};               ///< from the first to the last synchronisation
  std::vector<Duration> step_times;  ///< per step, median over the ranks
  StepSpread step_time;
  std::vector<RankAccount> ranks;  ///< as in the Run
  /// Per rank: part of the run time before its first and after its last synchronisation. With its account that is the run
  /// time.
  std::vector<Duration> outside;
  std::vector<CommAccount> communicators;
};

/// `delays` are `by_step(InStep::Delay)`. Cost: linear in ranks and steps.
[[nodiscard]] TimeAccount account_for(const Matched& matched, const StepTable& delays, int threads = 1);

}  // namespace cox::diagnose
