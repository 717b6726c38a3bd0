// SPDX-License-Identifier: Apache-2.0
/// \file
/// Attribution on what `diagnose` has matched already.
#pragma once

#include <vector>

#include "cox/diagnose/attribution.hpp"

#include "diagnose/match/matching.hpp"
#include "diagnose/match/scan.hpp"
#include "diagnose/match/skew.hpp"

namespace cox::diagnose {

/// Must be called before `measure_skew`, which overwrites the cells.
[[nodiscard]] Attribution attribute_matched(const trace::Run& run, const CommIndex& comms,
                                            const std::vector<RankScan>& scans, const Matching& m,
                                            const ClockView& clocks);

}  // namespace cox::diagnose
