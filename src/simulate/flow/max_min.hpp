// SPDX-License-Identifier: Apache-2.0
/// \file
/// Max-min fair rates from scratch: what the tests hold the incremental solver against.
#pragma once

#include <span>
#include <vector>

#include "cox/base/units.hpp"
#include "cox/simulate/network.hpp"

namespace cox::simulate {

/// Max-min fair rates of flows over links, from scratch: the definition that the incremental solver is tested
/// against. `routes[f]` are links; rate f is weights[f] (1) times its level. Flows that nothing limits are
/// infinite. Source: Bertsekas, Gallager 1992, section 6.5.2.
[[nodiscard]] std::vector<Bandwidth> max_min_rates(std::span<const Bandwidth> links,
                                                   std::span<const std::vector<LinkIndex>> routes,
                                                   std::span<const double> weights = {});

}  // namespace cox::simulate
