// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whether to speak in colour, how wide, in which letters.
#pragma once

#include "cox/report/terminal.hpp"

#include "cli/frame/command.hpp"

namespace cox::cli {

/// --color first, then NO_COLOR (not empty = off), FORCE_COLOR and CLICOLOR_FORCE (neither empty nor 0 = on),
/// then TERM=dumb and whether the stream is a terminal. Held by: src/cli/output/terminal_test.cpp
[[nodiscard]] bool use_color(ColorWhen when, bool is_terminal, const Console& console);

/// UTF-8 where the first of LC_ALL, LC_CTYPE and LANG that is not empty says so; else ASCII, as in the C locale.
/// Held by: src/cli/output/terminal_test.cpp
[[nodiscard]] report::Charset charset_of(const Console& console);

/// How text is printed: colours, the charset, and COLUMNS where it is set, else the terminal's width.
[[nodiscard]] report::TextStyle text_style(ColorWhen when, bool is_terminal, const Console& console);

/// `report::terminal_text` of each line: for texts of several lines with words from files in them.
[[nodiscard]] std::string terminal_lines(std::string_view text);

}  // namespace cox::cli
