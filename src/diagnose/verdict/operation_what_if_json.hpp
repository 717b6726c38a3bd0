// SPDX-License-Identifier: Apache-2.0
/// \file
/// A what-if on operations as part of the JSON result (docs/concepts/what-if-operations.md lists the keys).
#pragma once

#include "cox/base/json.hpp"

#include "diagnose/operations/operation_what_if.hpp"

namespace cox::diagnose {

/// Replaces `out` by an object. Shares that are not known are null.
void write_json(const OperationWhatIf& w, Json& out);

}  // namespace cox::diagnose
