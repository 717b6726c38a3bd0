// SPDX-License-Identifier: Apache-2.0
/// \file
/// From the words of a command line to an Invocation.
#pragma once

#include <string>
#include <vector>

#include "cli/frame/command.hpp"

namespace cox::cli {

/// Reads the words behind the verb.
///
/// Errors (all Errc::Usage): cli-002 (unknown option; names the nearest), cli-003 (option without a value,
/// with a bad
///         one, or given twice), cli-004 (argument missing or one too many).
///         Held by: src/cli/input/parse_test.cpp
[[nodiscard]] Result<Invocation> parse(const Command& command, const std::vector<std::string>& words);

}  // namespace cox::cli
