// SPDX-License-Identifier: Apache-2.0
/// \file
/// Fabric on what `diagnose` has matched already, in its two halves: measure, then locate.
#pragma once

#include <vector>

#include "cox/diagnose/fabric.hpp"

#include "diagnose/match/matching.hpp"
#include "diagnose/match/scan.hpp"

namespace cox::diagnose {

/// Transfers of every group with all members present, compared with those alike. Needs the groups and what is
/// known of their operations, not the cells: may be called before or after `measure_skew`.
[[nodiscard]] std::vector<GroupTransfer> measure_transfers(const trace::Run& run, const CommIndex& comms,
                                                           const std::vector<RankScan>& scans,
                                                           const Matching& m);

/// What the slow ones of `groups` have in common.
[[nodiscard]] Fabric locate_slow(const trace::Run& run, std::vector<GroupTransfer> groups);

}  // namespace cox::diagnose
