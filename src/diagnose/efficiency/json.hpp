// SPDX-License-Identifier: Apache-2.0
/// \file
/// Efficiencies as parts of a JSON result (docs/concepts/efficiencies.md lists the keys).
#pragma once

#include "cox/base/json.hpp"

#include "diagnose/efficiency/efficiency.hpp"

namespace cox::diagnose {

/// Sets the keys of one Run's efficiencies in `json`.
void write_json(const Efficiencies& e, Json& json);
/// Sets the keys of a comparison of sizes in `json`.
void write_json(const ScalingEfficiencies& s, Json& json);

}  // namespace cox::diagnose
