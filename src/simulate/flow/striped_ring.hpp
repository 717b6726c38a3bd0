// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rings of several channels whose messages meet nowhere but at their devices' own ports.
#pragma once

#include <optional>
#include <span>

#include "cox/model/scenario.hpp"
#include "cox/model/schedule.hpp"
#include "cox/simulate/max_plus.hpp"
#include "cox/simulate/network.hpp"

namespace cox::simulate {

/// What the messages of such rings cost in max-plus: those inside a node with their part of the scale-up ports, as if
/// all of a round were sent at once. Nothing where that would not be exact for the end of the collective: routes that
/// are not fixed, links between nodes that two messages of a round share, or hops inside a node that may be slower
/// than the slowest between nodes. `devices` are of [group][rank]; groups run beside each other.
///
/// Why the end is exact: the slowest hop holds its ring up in every round, and it shares nothing. Who leaves before
/// is at most a node's hops of shared instead of used ports too late.
/// Held by: src/simulate/flow/striped_ring_test.cpp (against the flow engine)
[[nodiscard]] std::optional<LinkCosts> striped_costs(const Network& network, const model::Fabric& fabric,
                                                     const model::Schedule& schedule,
                                                     std::span<const int> devices, int groups);

}  // namespace cox::simulate
