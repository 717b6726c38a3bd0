// SPDX-License-Identifier: Apache-2.0
/// \file
/// Departures from a ring whose links cost differently, without sweeping its rounds.
#pragma once

#include <span>

#include "simulate/max_plus/ring_lane.hpp"

namespace cox::simulate {

/// Moves `times` from arrivals to departures (rendezvous) where the message into place i costs `cheap[i]`, or
/// `dear[i]` if its chunk is large. False, and nothing is moved, where the identity is not known to hold: more
/// than eight different costs, or chunks of two sizes whose difference could pay for staying at a faster link
/// (see mixed_ring.cpp). Cost: O(different costs x (places + rounds)). Memory: O(places).
/// Held by: tests/property/simulate_laws.cpp (equal to the steps)
[[nodiscard]] bool close_mixed_ring(const RingLane& ring, std::span<const double> cheap,
                                    std::span<const double> dear, std::span<double> times);

}  // namespace cox::simulate
