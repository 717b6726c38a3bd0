// SPDX-License-Identifier: Apache-2.0
/// \file
/// The critical path of an operation graph as a part of the JSON result (docs/reference/inputs/graphs.md).
#pragma once

#include "cox/base/json.hpp"

#include "diagnose/operations/graph_path.hpp"

namespace cox::diagnose {

/// Fills `out` with an object; ranks that are not on the path are left out of `ranks_on_path`.
void write_json(const GraphPath& path, Json& out);

}  // namespace cox::diagnose
