// SPDX-License-Identifier: Apache-2.0
/// \file
/// Time of a collective on an idle network with equal arrivals: the oracle of the engines.
#pragma once

#include <optional>
#include <string>

#include "cox/base/units.hpp"
#include "cox/model/message_cost.hpp"
#include "cox/model/schedule.hpp"

namespace cox::model {

/// Exact time under `cost` for chunks of whole bytes; nothing where the algorithm has no closed form.
/// Formulas: docs/reference/collectives.md (generated from `formula_of`). Held by:
/// src/model/closed_form_test.cpp and tests/property (against the max-plus engine, to 1e-9).
[[nodiscard]] std::optional<Seconds> closed_form(const CollectiveSpec& spec, const MessageCost& cost);

/// The formula as text: `2 (P - 1) (alpha + ceil(n / P) beta)`.
[[nodiscard]] std::string formula_of(const CollectiveSpec& spec);

}  // namespace cox::model
