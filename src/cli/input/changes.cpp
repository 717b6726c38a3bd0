// SPDX-License-Identifier: Apache-2.0
#include "cli/input/changes.hpp"

namespace cox::cli {

std::vector<std::string> split_changes(std::string_view text) {
  std::vector<std::string> out;
  if (text.empty()) return out;
  out.emplace_back();
  int depth = 0;
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '[' || c == '{')) ++depth;
    if (!quoted && (c == ']' || c == '}')) --depth;
    if (c == ',' && depth <= 0 && !quoted)
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

}  // namespace cox::cli
