// SPDX-License-Identifier: Apache-2.0
#include "cli/output/terminal.hpp"

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

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

report::Charset charset_of(const Console& console) {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string locale = console.env(name).value_or("");
    if (locale.empty()) continue;
    for (char& c : locale)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
    const bool utf8 = locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
    return utf8 ? report::Charset::Utf8 : report::Charset::Ascii;
  }
  return report::Charset::Ascii;
}

report::TextStyle text_style(ColorWhen when, bool is_terminal, const Console& console) {
  report::TextStyle style{
      .color = use_color(when, is_terminal, console) ? report::Color::On : report::Color::Off,
      .charset = charset_of(console)};
  if (is_terminal && console.out_columns > 0) style.columns = console.out_columns;
  const std::string asked = console.env("COLUMNS").value_or("");
  std::size_t columns = 0;
  const auto [end, error] = std::from_chars(asked.data(), asked.data() + asked.size(), columns);
  if (!asked.empty() && error == std::errc{} && end == asked.data() + asked.size() && columns > 0)
    style.columns = columns;
  return style;
}

std::string terminal_lines(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    out += report::terminal_text(text.substr(0, end));
    if (end == std::string_view::npos) break;
    out += '\n';
    text.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace cox::cli
