// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where messages of one collective, or of its steps, meet in a port or a card: max-plus gives each all of it there.
#pragma once

#include <span>
#include <string>

#include "cox/model/scenario.hpp"
#include "cox/model/schedule.hpp"

namespace cox::simulate {

/// Whether two messages, of a step or of one and the next, may be in one port or card at once. If not, max-plus says what the flow
/// engine would. `devices` of the participants. Answered by the first that can: nothing is sent; servers and switches; a ring of one
/// lane and a chain, whose ports have one receiver each; ranks that stay in step; `OwnLinks`, on one switch.
/// Cost: O(ranks x different rounds), of lists O(messages), of more than four million none: they may.
/// Held by: src/simulate/collective/meetings_test.cpp, tests/property/collective_laws.cpp (auto is what flow says)
[[nodiscard]] bool may_meet(const model::Scenario& scenario, const model::Schedule& schedule,
                            std::span<const int> devices);

/// Whether all ranks end each round together and each message has as many beside it in its ports as the costs of max-plus have
/// there (`with_shared_ports`): regular rounds of one lane whose messages are as long as each other, to 1e-4 of all rounds, and
/// nothing that disturbs anybody. Cost: O(ranks x kinds of rounds + rounds).
[[nodiscard]] bool stay_in_step(const model::Scenario& scenario, const model::Schedule& schedule,
                                std::span<const int> devices);

/// What the outcome says of it by max-plus.
[[nodiscard]] std::string what_meets(const model::Schedule& schedule);

}  // namespace cox::simulate
