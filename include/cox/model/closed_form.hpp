// SPDX-License-Identifier: Apache-2.0
/// \file
/// Time of a collective on an idle network with equal arrivals: the oracle of the engines.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cox/base/units.hpp"
#include "cox/model/message_cost.hpp"
#include "cox/model/schedule.hpp"

namespace cox::model {

/// Exact time under `cost` for chunks of whole bytes, by the definition of `Schedule`.
/// Nothing where there is no formula: trees cut into unequal chunks, direct all-gather and folded halving of blocks
/// so unequal that ports owe, a parameter server's pull with more, unequal shards than workers; or ends that cost
/// (o, O, g, reduce); and for what `Schedule::make` refuses.
/// Formulas: docs/reference/collectives.md (generated from `formula_of`). Cost: O(log^2 ranks + servers).
/// Held by: src/model/closed_form_test.cpp (against the rounds, to 1e-9)
[[nodiscard]] std::optional<Seconds> closed_form(const CollectiveSpec& spec, const MessageCost& cost);

/// The same for a hierarchical all-reduce whose levels differ, innermost first: two costs for
/// `Hierarchical2`, three for `Hierarchical3`; nothing for other numbers and algorithms. `across` is what one
/// rank has: eight ranks behind one NIC have an eighth of its bandwidth each.
[[nodiscard]] std::optional<Seconds> closed_form(const CollectiveSpec& spec,
                                                 std::span<const MessageCost> levels);

/// The formula as text, `2 (P - 1) T(ceil(n / P))`, in the words of docs/reference/collectives.md; empty
/// where the algorithm does not do the collective.
[[nodiscard]] std::string_view formula_of(Collective kind, Algorithm algorithm);

/// The table of docs/reference/collectives.md: rounds and bytes counted, not typed in.
[[nodiscard]] std::string collectives_table();

}  // namespace cox::model
