// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the messages of a round take of the ports that they share.
#pragma once

#include <span>

#include "cox/model/scenario.hpp"
#include "cox/model/schedule.hpp"
#include "cox/simulate/max_plus.hpp"

namespace cox::simulate {

/// `costs` with the bandwidth that is left of a port for one of the messages that use it: of a node's network card,
/// and of a device's scale-up port, each in the direction and round with the most of them, all lanes together.
/// Schedules of lists: `costs` as they are. `rank_of[participant]` is its rank in the cluster.
///
/// Formula: time per byte x messages of the port. As if all of a round were sent at once: never earlier than by
/// fair shares, and the same where all that matters is sent at once (equal arrivals, a round no shorter inside
/// nodes than across them, or the other way round).
/// Cost: O(ranks x lanes x rounds of different peers).
/// Held by: src/simulate/max_plus/shared_ports_test.cpp
[[nodiscard]] LinkCosts with_shared_ports(LinkCosts costs, const model::Schedule& schedule,
                                          const model::Cluster& cluster, std::span<const int> rank_of);

}  // namespace cox::simulate
