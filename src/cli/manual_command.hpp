// SPDX-License-Identifier: Apache-2.0
/// \file
/// The hidden `cox __man` and `cox __docs`: the man page and docs/reference/cli.md from the command tables.
#pragma once

#include <string>

#include "cli/frame/command.hpp"

namespace cox::cli {

[[nodiscard]] const Command& man_command();
[[nodiscard]] const Command& docs_command();

/// cox(1) in man(7) macros.
[[nodiscard]] std::string man_page();
/// docs/reference/cli.md.
[[nodiscard]] std::string cli_reference();

}  // namespace cox::cli
