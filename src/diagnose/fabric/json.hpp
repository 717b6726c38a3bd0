// SPDX-License-Identifier: Apache-2.0
/// \file
/// Fabric as part of the JSON result.
#pragma once

#include <nlohmann/json.hpp>

#include "cox/trace/run.hpp"

#include "diagnose/fabric/fabric.hpp"

namespace cox::diagnose {

void write_json(const Fabric& f, const trace::Run& run, nlohmann::ordered_json& j);

}  // namespace cox::diagnose
