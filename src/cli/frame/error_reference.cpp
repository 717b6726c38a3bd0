// SPDX-License-Identifier: Apache-2.0
#include "cli/frame/error_reference.hpp"

#include "cli/frame/embedded.hpp"

namespace cox::cli {
namespace {

std::string trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \n");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \n") - begin + 1));
}

}  // namespace

std::vector<ErrorEntry> parse_error_reference(std::string_view page) {
  constexpr std::string_view kHeading = "\n## ";
  std::vector<ErrorEntry> entries;
  for (auto at = page.find(kHeading); at != std::string_view::npos;) {
    const auto next = page.find(kHeading, at + 1);
    std::string_view section = page.substr(
        at + kHeading.size(), next == std::string_view::npos ? next : next - at - kHeading.size());
    const std::string_view heading = section.substr(0, section.find('\n'));
    const auto colon = heading.find(": ");
    if (colon != std::string_view::npos)
      entries.push_back({.id = trimmed(heading.substr(0, colon)),
                         .title = trimmed(heading.substr(colon + 2)),
                         .body = trimmed(section.substr(heading.size()))});
    at = next;
  }
  return entries;
}

const std::vector<ErrorEntry>& error_reference() {
  static const std::vector<ErrorEntry> entries = parse_error_reference(kErrorReferenceText);
  return entries;
}

}  // namespace cox::cli
