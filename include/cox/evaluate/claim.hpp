// SPDX-License-Identifier: Apache-2.0
/// \file
/// A claim with numbers and units, as somebody pasted it: read where it fits a formula, computed, and judged.
/// What it can read: docs/howto/check-a-claim.md.
#pragma once

#include <string>
#include <string_view>

#include "cox/base/result.hpp"

namespace cox::evaluate {

/// For a terminal: what was read, what was computed, the verdict. Errors: evaluate-001 (empty, or longer than 1,000
/// characters). Cost: microseconds; a few closed forms. Held by: src/evaluate/claim/claim_test.cpp
[[nodiscard]] Result<std::string> claim_text(std::string_view claim);
/// The whole document of `cox explain CLAIM --json`, schema cox.claim/1. Errors: the same.
[[nodiscard]] Result<std::string> claim_json(std::string_view claim);

}  // namespace cox::evaluate
