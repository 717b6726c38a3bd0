// SPDX-License-Identifier: Apache-2.0
/// \file
/// The what-if from what diagnose() has already: one pass over the events instead of four.
#pragma once

#include <vector>

#include "cox/diagnose/what_if.hpp"
#include "cox/trace/run.hpp"

#include "diagnose/match/matching.hpp"
#include "diagnose/match/scan.hpp"
#include "diagnose/match/steps.hpp"

namespace cox::diagnose {

/// Of the cells of `m` only is read whether they are known, so it may come before or after `measure_skew`;
/// `steps` must still have all its bounds.
[[nodiscard]] WhatIf what_if(const trace::Run& run, const CommIndex& comms,
                             const std::vector<RankScan>& scans, const Matching& m, const Steps& steps,
                             bool clocks_comparable, const WhatIfOptions& options);

}  // namespace cox::diagnose
