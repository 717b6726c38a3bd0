// SPDX-License-Identifier: Apache-2.0
/// \file
/// `cox study pacing`.
#pragma once

#include "cli/frame/command.hpp"

namespace cox::cli {

/// What `cox study` does for the name `pacing`.
[[nodiscard]] Result<ExitCode> run_pacing_study(const Invocation& call, Console& console);

}  // namespace cox::cli
