// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whether to speak in colour.
#pragma once

#include "cli/frame/command.hpp"

namespace cox::cli {

/// --color first, then NO_COLOR (not empty = off), FORCE_COLOR and CLICOLOR_FORCE (neither empty nor 0 = on),
/// then TERM=dumb and whether the stream is a terminal. Held by: src/cli/output/terminal_test.cpp
[[nodiscard]] bool use_color(ColorWhen when, bool is_terminal, const Console& console);

}  // namespace cox::cli
