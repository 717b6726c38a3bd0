// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where devices share a network card in a way that max-plus does not know.
#pragma once

#include "cox/model/scenario.hpp"
#include "cox/model/schedule.hpp"
#include "cox/simulate/network.hpp"

namespace cox::simulate {

/// Whether devices of a node send rounds that are lists (trees) through cards that they share: max-plus gives each a way of its
/// own there, and is too fast by up to the devices of a card.
[[nodiscard]] bool shares_cards_in_lists(const model::Scenario& scenario, const model::Schedule& schedule);

/// Whether the flow engine may stand in for max-plus, which `auto` chose: the links say what the scenario's costs say (nobody
/// wrote `cost.across` beside them), nothing is on that flow does not have, and the run has at most four million messages.
/// Cost: O(messages) up to that. Held by: src/simulate/collective/shared_cards_test.cpp
[[nodiscard]] bool flow_may_stand_in(const model::Scenario& scenario, const model::Schedule& schedule,
                                     const Network& network);

}  // namespace cox::simulate
