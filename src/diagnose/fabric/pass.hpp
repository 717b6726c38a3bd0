// SPDX-License-Identifier: Apache-2.0
/// \file
/// The two halves of understanding a fabric: measure, then locate.
#pragma once

#include <vector>

#include "diagnose/fabric/fabric.hpp"
#include "diagnose/match/matched.hpp"

namespace cox::diagnose {

/// Transfers of every group with all members present, compared with those alike.
[[nodiscard]] std::vector<GroupTransfer> measure_transfers(const Matched& matched);

/// What the slow ones of `groups` have in common.
[[nodiscard]] Fabric locate_slow(const Matched& matched, std::vector<GroupTransfer> groups);

}  // namespace cox::diagnose
