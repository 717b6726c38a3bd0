// SPDX-License-Identifier: Apache-2.0
/// \file
/// The values of `--set KEY=VALUE,...`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cox::cli {

/// Each `KEY=VALUE` of `text`. A comma inside brackets, braces or double quotes belongs to its value. Nothing of an
/// empty text. Held by: src/cli/input/changes_test.cpp
[[nodiscard]] std::vector<std::string> split_changes(std::string_view text);

}  // namespace cox::cli
