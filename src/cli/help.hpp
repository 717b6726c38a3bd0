// SPDX-License-Identifier: Apache-2.0
/// \file
/// Help screens, made from the command tables.
#pragma once

#include <string>

#include "cli/frame/command.hpp"

namespace cox::cli {

/// `cox --help`: examples, the verbs, exit codes. At most 24 lines of 100 columns, as each verb's.
[[nodiscard]] std::string overview();

/// `cox VERB --help`: examples first, then arguments and options with defaults.
[[nodiscard]] std::string help_of(const CommandSpec& spec);

/// `cox diagnose PATH [OPTIONS]`.
[[nodiscard]] std::string usage_of(const CommandSpec& spec);

/// `-o, --output FILE`, or `    --json` where there is no letter and `aligned`.
enum class Aligned : bool { No, Yes };
[[nodiscard]] std::string flag_form(const FlagSpec& flag, Aligned aligned);

}  // namespace cox::cli
