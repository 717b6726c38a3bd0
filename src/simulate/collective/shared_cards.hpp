// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where devices share a network card in a way that max-plus does not know.
#pragma once

#include <cstdint>
#include <string>

#include "cox/model/scenario.hpp"
#include "cox/model/schedule.hpp"
#include "cox/simulate/network.hpp"

namespace cox::simulate {

/// Messages that a step plays on links without being asked to: about ten seconds of them. Of a step, not of a run: what a step takes
/// must not depend on how many there are.
inline constexpr std::int64_t kMostPlayed = 4'000'000;

/// The card of a device, counted over all nodes: device i of d has card i n / d of n. Whom `nic_of` moves, links are played for.
[[nodiscard]] std::int64_t card_of(const model::Cluster& cluster, std::int64_t device);

/// Whether the rounds it begins or ends with have no regular form.
[[nodiscard]] bool has_lists(const model::Schedule& schedule);

/// About: as if each participant sent one in each round.
[[nodiscard]] double about_messages(const model::Schedule& schedule);

/// Whether a rank that exchanges with all others goes on to its next message while the one before is in a card: max-plus sends
/// one after the other there, and knows no card that devices share.
[[nodiscard]] bool meets_in_exchange(const model::Scenario& scenario, const model::Schedule& schedule);

/// Whether both directions of a ring, or two trees, leave nodes by one card: max-plus gives each all of it.
[[nodiscard]] bool shares_cards_both_ways(const model::Scenario& scenario, const model::Schedule& schedule);

/// Whether devices of a node send rounds that are lists (trees) through cards that they share: max-plus gives each a way of its
/// own there, and is too fast by up to the devices of a card.
[[nodiscard]] bool shares_cards_in_lists(const model::Scenario& scenario, const model::Schedule& schedule);

/// Of trees: whether a rank sends, or gets, several messages in a round. Max-plus lets its port serve one after the other, on links
/// they share it. Looks at the first rounds of each lane. Empty: no; else what the outcome says.
[[nodiscard]] std::string serves_in_turn_note(const model::Schedule& schedule);

/// Whether the flow engine may stand in for max-plus, which `auto` chose: the links say what the scenario's costs say (nobody
/// wrote `cost.across` beside them), and the protocol is rendezvous or eager: under `eager-gap` ports serve in turn, which links do
/// not, and under `loggops` messages take of processors. Whatever disturbs messages flow has.
/// Held by: tests/property/auto_laws.cpp
[[nodiscard]] bool network_may_stand_in(const model::Scenario& scenario, const Network& network);

/// Whether it has at most four million messages. Cost: O(messages) up to that.
[[nodiscard]] bool is_affordable(const model::Schedule& schedule);

/// For steps of one collective: that, and at most four million messages.
/// Cost: O(messages) up to that. Held by: src/simulate/collective/shared_cards_test.cpp
[[nodiscard]] bool flow_may_stand_in(const model::Scenario& scenario, const model::Schedule& schedule,
                                     const Network& network);

}  // namespace cox::simulate
