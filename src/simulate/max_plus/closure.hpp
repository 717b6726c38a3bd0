// SPDX-License-Identifier: Apache-2.0
/// \file
/// Departures without sweeping: identities that hold where links cost the same, or few different costs.
#pragma once

#include <cstdint>
#include <span>

#include "cox/model/schedule.hpp"
#include "cox/simulate/max_plus.hpp"

#include "simulate/max_plus/regular_rounds.hpp"

namespace cox::simulate {

/// Whether an identity is known for the first `rounds` rounds of a lane; if so, `times` become departures.
///
/// Rings, chunks even or not, rendezvous and eager: a message is a path through the ranks that moves on or
/// stays in each round; docs/concepts/max-plus.md derives its cost. Rings of links that cost differently,
/// rendezvous: mixed_ring.hpp. Others, rendezvous, equal costs and sizes: who reaches whom. Cost: O(ranks +
/// rounds). Memory: rings with less than a lap, or chunks of two sizes, or different costs O(ranks), others
/// none. Held by: tests/property/simulate_laws.cpp (equal to the steps up to 4,096 ranks)
[[nodiscard]] bool close(const model::Schedule& schedule, int lane, std::int64_t rounds,
                         const LinkCosts& costs, model::Protocol protocol, std::span<double> times);

/// The same where `late` messages of a flat ring, in the order of rounds, come later: one that costs as much for all, in
/// equal chunks, rendezvous, over at least a lap. Cost: O(late x (late + ranks)); false where the rounds are cheaper.
/// Held by: src/simulate/max_plus/timeouts_test.cpp
[[nodiscard]] bool close_late(const model::Schedule& schedule, int lane, std::int64_t rounds,
                              const LinkCosts& costs, model::Protocol protocol,
                              std::span<const LateMessage> late, std::span<double> times);

}  // namespace cox::simulate
