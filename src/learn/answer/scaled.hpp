// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a loss scale did, as JSON and in words.
#pragma once

#include <span>
#include <string>

#include "cox/base/json.hpp"
#include "cox/learn/learner.hpp"

namespace cox::learn {

[[nodiscard]] Json json_of(const ScaledSteps& scaled);
/// Over several runs: skipped steps are summed. `last`: whose overflow was the last one, or nothing.
[[nodiscard]] std::string scaled_text(std::span<const ScaledSteps> runs, const std::string& last);

}  // namespace cox::learn
