// SPDX-License-Identifier: Apache-2.0
/// \file
/// What lies in a Run folder: our files, paired by process, and what else was found.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"

namespace cox::trace {

inline constexpr std::string_view kRawSuffix = ".coxraw";
inline constexpr std::string_view kCompactSuffix = ".cox";
/// Largest file of ours that is read.
inline constexpr std::size_t kMaxFileBytes = std::size_t{16} << 30;

/// Files of one process: `X.cox`, `X.coxraw`, or both where a compaction was interrupted.
struct ProcessPaths {
  std::filesystem::path compact;  ///< empty where there is none
  std::filesystem::path raw;
};

/// The processes of a Run folder by name, or the one file that `path` is.
/// Errors: trace-001 (nothing there), trace-002 (no file of ours; names what was found), trace-005 (a Run in
/// which nothing was recorded).
[[nodiscard]] Result<std::vector<ProcessPaths>> list_run(const std::filesystem::path& path);

/// trace-005 where `dir` holds run.json of an observed job and no rank's file: what became of the command.
[[nodiscard]] std::optional<Error> nothing_recorded(const std::filesystem::path& dir);

/// What a file looks like by its first bytes: "gzip data", "JSON text", "a Python pickle", ...
[[nodiscard]] std::string looks_like(std::string_view head);

}  // namespace cox::trace
