// SPDX-License-Identifier: Apache-2.0
/// \file
/// Time structure as part of the JSON result.
#pragma once

#include "cox/base/json.hpp"

#include "diagnose/over_time/time_structure.hpp"

namespace cox::diagnose {

void write_json(const TimeStructure& t, Json& j);

}  // namespace cox::diagnose
