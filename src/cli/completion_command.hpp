// SPDX-License-Identifier: Apache-2.0
/// \file
/// `cox completion SHELL`, and the hidden `cox __complete WORDS...` that the shells call.
#pragma once

#include <string>
#include <vector>

#include "cli/frame/command.hpp"

namespace cox::cli {

[[nodiscard]] const Command& completion_command();
[[nodiscard]] const Command& complete_command();

/// What may stand for the last of `words` (those behind `cox`; the last may be empty or begun): one per line,
/// with a tab and an explanation where there is one. `:file`, `:folder` and `:command` ask the shell for its
/// own. Held by: tests/golden/completion.golden
[[nodiscard]] std::string complete(const std::vector<std::string>& words);

}  // namespace cox::cli
