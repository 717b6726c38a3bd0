// SPDX-License-Identifier: Apache-2.0
/// \file
/// docs/reference/errors.md as a table: one entry per error id.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cox::cli {

struct ErrorEntry {
  std::string id;     ///< `trace-002`
  std::string title;  ///< what it says in one line
  std::string body;   ///< everything below the heading, without blank ends
};

/// Entries of a page whose headings read `## trace-002: title`. Held by: src/cli/frame/error_reference_test.cpp
[[nodiscard]] std::vector<ErrorEntry> parse_error_reference(std::string_view page);

/// The entries of this build.
[[nodiscard]] const std::vector<ErrorEntry>& error_reference();

}  // namespace cox::cli
