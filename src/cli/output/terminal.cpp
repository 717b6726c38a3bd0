// SPDX-License-Identifier: Apache-2.0
#include "cli/output/terminal.hpp"

namespace cox::cli {

bool use_color(ColorWhen when, bool is_terminal, const Console& console) {
  if (when != ColorWhen::Auto) return when == ColorWhen::Always;
  const auto set = [&](const char* name) { return console.env(name).value_or("") != ""; };
  if (set("NO_COLOR")) return false;
  for (const char* name : {"FORCE_COLOR", "CLICOLOR_FORCE"})
    if (set(name)) {
      if (console.env(name) != "0") return true;
    }
  return is_terminal && console.env("TERM").value_or("") != "dumb";
}

}  // namespace cox::cli
