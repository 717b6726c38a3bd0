// SPDX-License-Identifier: Apache-2.0
/// \file
/// What hangs and what disagrees, as parts of the JSON result (docs/reference/diagnosis-json.md).
#pragma once

#include "cox/base/json.hpp"
#include "cox/diagnose/stall.hpp"

namespace cox::diagnose {

[[nodiscard]] Json hang_json(const Trouble& trouble);
/// Null where the job ended well, or its end is not known.
[[nodiscard]] Json ending_json(const Trouble& trouble);
[[nodiscard]] Json mismatches_json(const Trouble& trouble);

}  // namespace cox::diagnose
