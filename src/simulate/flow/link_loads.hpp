// SPDX-License-Identifier: Apache-2.0
/// \file
/// What every link carried, for reports.
#pragma once

#include <span>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/simulate/network.hpp"
#include "cox/simulate/outcome.hpp"

namespace cox::simulate {

/// What each link carried, by name, and the part of `makespan` that this takes at its full bandwidth. Links
/// that carried nothing are left out.
[[nodiscard]] std::vector<LinkLoad> link_loads(const Network& network, std::span<const double> link_bytes,
                                               Seconds makespan);

}  // namespace cox::simulate
