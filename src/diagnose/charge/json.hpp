// SPDX-License-Identifier: Apache-2.0
/// \file
/// Who made whom wait, as part of the JSON result.
#pragma once

#include "cox/base/json.hpp"

#include "diagnose/charge/attribution.hpp"

namespace cox::diagnose {

void write_json(const Attribution& a, Json& j);

}  // namespace cox::diagnose
