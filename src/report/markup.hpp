// SPDX-License-Identifier: Apache-2.0
/// \file
/// Text made safe for where it goes: HTML, JSON inside a script element, a terminal.
///
/// Host names, commands and file names come from outside and are treated as hostile.
#pragma once

#include <string>
#include <string_view>

#include "cox/base/json.hpp"
#include "cox/report/terminal.hpp"  // terminal_text

namespace cox::report {

/// For element content and quoted attributes. Control characters and broken UTF-8 become U+FFFD.
[[nodiscard]] std::string html(std::string_view text);

/// JSON that can stand inside a script element: no `<`, `>` or `&` is left as such.
[[nodiscard]] std::string script_json(const Json& value);

[[nodiscard]] std::string base64(std::string_view bytes);

}  // namespace cox::report
