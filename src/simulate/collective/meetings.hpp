// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where messages of one collective, or of its steps, meet in a port or a card: max-plus gives each all of it there.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "cox/model/scenario.hpp"
#include "cox/model/schedule.hpp"

namespace cox::simulate {

/// Groups beside each other, each of which goes through the same collectives one after the other.
struct Turns {
  std::span<const model::Schedule> schedules;  ///< no servers, no switches
  std::span<const int> devices;                ///< of [group][place]
  int groups = 1;
  bool together = false;  ///< nothing brings those who come to the first one apart
  double alike = 1e-4;  ///< part of all bytes by which messages of a round may differ and still end together
  bool delays = false;  ///< a message may come later than its way says
};

/// Whether all ranks end each round together and each message has as many beside it in its ports as the costs of max-plus have
/// there (`with_shared_ports`): regular rounds of one lane whose messages are as long as each other, to 1e-4 of all rounds, and
/// nothing that disturbs anybody. Cost: O(ranks x kinds of rounds + rounds).
[[nodiscard]] bool stay_in_step(const model::Scenario& scenario, const model::Schedule& schedule,
                                std::span<const int> devices);

/// A ring of one lane and a chain: ports have one receiver each.
[[nodiscard]] bool passes_on(const model::Schedule& schedule);

/// Whether two messages, of a collective or of one and the next, may be in one port or card at once. If not, max-plus says what the
/// flow engine would, if it knows that these are two ports (`LinkCosts::own_ways`). Answered by the first that can: ranks that stay
/// in step (regular rounds of one lane, messages `alike`); `OwnLinks`, on one switch.
/// Cost: O(ranks x different rounds), of lists O(messages), of more than four million none: they may.
/// Held by: src/simulate/collective/meetings_test.cpp, tests/property/auto_laws.cpp (auto is what flow says)
[[nodiscard]] bool may_meet(const model::Cluster& cluster, std::uint64_t seed, const Turns& turns);

/// The same of the steps of one collective; `devices` of the participants. Nothing is sent: no. Servers and switches: they may. A
/// ring and a chain over packed ranks: no.
/// Held by: src/simulate/collective/meetings_test.cpp, tests/property/collective_laws.cpp (auto is what flow says)
[[nodiscard]] bool may_meet(const model::Scenario& scenario, const model::Schedule& schedule,
                            std::span<const int> devices);

/// What the outcome says of it by max-plus.
[[nodiscard]] std::string what_meets(const model::Schedule& schedule);

}  // namespace cox::simulate
