// SPDX-License-Identifier: Apache-2.0
/// \file
/// What hangs and what disagrees, as parts of the JSON result (docs/reference/diagnosis-json.md).
#pragma once

#include <nlohmann/json.hpp>

#include "cox/diagnose/diagnosis.hpp"

namespace cox::diagnose {

[[nodiscard]] nlohmann::ordered_json hang_json(const Diagnosis& d);
[[nodiscard]] nlohmann::ordered_json mismatches_json(const Diagnosis& d);

}  // namespace cox::diagnose
