// SPDX-License-Identifier: Apache-2.0
/// \file
/// Who made whom wait, as part of the JSON result.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cox/base/json.hpp"

#include "diagnose/charge/attribution.hpp"

namespace cox::diagnose {

/// What of it is said in clauses, which words make.
struct ChargeTexts {
  std::optional<std::string> refusal;
  std::vector<std::string> notes;
};

void write_json(const Attribution& a, const ChargeTexts& texts, Json& j);

}  // namespace cox::diagnose
