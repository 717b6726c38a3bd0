// SPDX-License-Identifier: Apache-2.0
/// \file
/// From a command line to an exit code.
#pragma once

#include <string>
#include <vector>

#include "cli/frame/command.hpp"

namespace cox::cli {

/// Runs one command line (without the program's name) and prints its error where it fails.
/// Held by: tests/golden.
[[nodiscard]] ExitCode dispatch(const std::vector<std::string>& words, Console& console);

/// cli-001, with the nearest verb.
[[nodiscard]] Error unknown_verb(const std::string& word);

}  // namespace cox::cli
