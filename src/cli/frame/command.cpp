// SPDX-License-Identifier: Apache-2.0
#include "cli/frame/command.hpp"

namespace cox::cli {

std::optional<std::string> Console::env(const std::string& name) const {
  const auto at = environment.find(name);
  if (at == environment.end()) return std::nullopt;
  return at->second;
}

std::string Invocation::value(std::string_view flag, std::string_view fallback) const {
  const auto at = values.find(flag);
  return at == values.end() ? std::string(fallback) : at->second;
}

std::vector<FlagSpec> flags_of(const CommandSpec& spec) {
  std::vector<FlagSpec> flags = spec.flags;
  if (spec.hidden) return flags;
  if (spec.shared.json) flags.push_back({.name = "json", .help = "print one JSON object instead of text"});
  if (spec.shared.threads)
    flags.push_back(
        {.name = "threads", .value = "N", .help = "threads to use; 0 = one per core", .fallback = "0"});
  flags.push_back({.name = "color",
                   .value = "WHEN",
                   .help = "auto, always or never",
                   .fallback = "auto",
                   .complete = Complete::Choices,
                   .choices = {"auto", "always", "never"}});
  flags.push_back({.name = "quiet", .letter = 'q', .help = "errors only on standard error"});
  flags.push_back({.name = "verbose", .letter = 'v', .help = "say more on standard error"});
  flags.push_back({.name = "help", .letter = 'h', .help = "this page"});
  return flags;
}

}  // namespace cox::cli
