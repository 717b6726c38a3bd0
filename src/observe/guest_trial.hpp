// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whether a guest object loads on this machine. One that does not ends every process that it is preloaded into,
/// before its first line: it is tried on a process of ours first.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace cox::observe {

/// Why the dynamic loader refuses the object, in its own words; nothing where it loads, or where it could not
/// be tried. Cost: two processes, some milliseconds. Held by: tests/e2e/hostile_test.py
[[nodiscard]] std::optional<std::string> why_not_loadable(const std::filesystem::path& preload);

}  // namespace cox::observe
