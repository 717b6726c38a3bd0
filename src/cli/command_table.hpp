// SPDX-License-Identifier: Apache-2.0
/// \file
/// All verbs in the order of the help screen.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/frame/command.hpp"

namespace cox::cli {

[[nodiscard]] const std::vector<const Command*>& commands();

/// The verb of that name, hidden ones included; null where there is none.
[[nodiscard]] const Command* find_command(std::string_view name);

/// Names of the verbs that help shows.
[[nodiscard]] std::vector<std::string> verb_names();

}  // namespace cox::cli
