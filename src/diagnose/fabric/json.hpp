// SPDX-License-Identifier: Apache-2.0
/// \file
/// Fabric as part of the JSON result.
#pragma once

#include "cox/base/json.hpp"
#include "cox/trace/run.hpp"

#include "diagnose/fabric/fabric.hpp"

namespace cox::diagnose {

void write_json(const Fabric& f, const trace::Run& run, Json& j);

}  // namespace cox::diagnose
