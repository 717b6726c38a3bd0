// SPDX-License-Identifier: Apache-2.0
/// \file
/// From an error to what the user sees: two lines and an exit code.
#pragma once

#include <string>

#include "cli/frame/command.hpp"

namespace cox::cli {

/// `cox: <where>: <message> [trace-002]` and, where there is one, `  hint: ...`; ends with a newline.
[[nodiscard]] std::string describe(const Error& error, bool color);

/// 2 usage, 3 bad input (not found, not ours, not supported), 4 environment, 1 infeasible.
[[nodiscard]] ExitCode exit_code_of(Errc code);

/// The same for `cox observe`: 127 not found, 126 not executable, 125 everything else.
[[nodiscard]] ExitCode observe_exit_code_of(const Error& error);

/// Usage errors. `id` is cli-001 to cli-004.
[[nodiscard]] Error usage_error(const char* id, std::string message, std::string hint);

}  // namespace cox::cli
