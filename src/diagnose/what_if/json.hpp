// SPDX-License-Identifier: Apache-2.0
/// \file
/// The what-if as part of the JSON result (docs/concepts/what-if.md).
#pragma once

#include "cox/base/json.hpp"

#include "diagnose/what_if/what_if.hpp"

namespace cox::diagnose {

/// Makes `j` an object of the whole what-if. Base units in the names; what was not evaluated is null.
void write_json(const WhatIf& w, const trace::Run& run, Json& j);

}  // namespace cox::diagnose
