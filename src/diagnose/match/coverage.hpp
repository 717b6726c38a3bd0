// SPDX-License-Identifier: Apache-2.0
/// \file
/// What of the job the Run holds, and each communicator's account.
#pragma once

#include <vector>

#include "cox/diagnose/diagnosis.hpp"

#include "diagnose/match/matching.hpp"
#include "diagnose/match/scan.hpp"
#include "diagnose/match/skew.hpp"

namespace cox::diagnose {

[[nodiscard]] Coverage cover(const trace::Run& run, const std::vector<RankScan>& scans, const Matching& m,
                             const ClockView& clocks);

/// One entry per communicator in use, as the member with most calls on it made them.
[[nodiscard]] std::vector<CommAccount> account_communicators(const trace::Run& run,
                                                             const std::vector<RankScan>& scans);

}  // namespace cox::diagnose
