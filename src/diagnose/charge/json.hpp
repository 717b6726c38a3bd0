// SPDX-License-Identifier: Apache-2.0
/// \file
/// Who made whom wait, as part of the JSON result.
#pragma once

#include <nlohmann/json.hpp>

#include "diagnose/charge/attribution.hpp"

namespace cox::diagnose {

void write_json(const Attribution& a, nlohmann::ordered_json& j);

}  // namespace cox::diagnose
