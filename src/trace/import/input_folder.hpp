// SPDX-License-Identifier: Apache-2.0
/// \file
/// What lies in a folder, and which of it belongs together.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/trace/run.hpp"

#include "trace/import/part/reader.hpp"

namespace cox::trace {

/// A file, or a folder that is one of our own Runs.
struct Input {
  std::filesystem::path path;
  std::string name;                ///< below the folder that was asked for
  const Reader* reader = nullptr;  ///< nothing: of no known format
  bool own = false;                ///< a Run of ours
  std::string looks_like;          ///< where the format is not known
  bool unreadable = false;         ///< not known as it could not be opened or unpacked
  std::string companion_of;        ///< name of the file that is read in its place
};

/// Everything at a path, by name: at most 100,000 files, eight folders deep, no hidden ones, no links to
/// folders. Errors: trace-001 (nothing there), base-002 (no permission).
[[nodiscard]] Result<std::vector<Input>> list_inputs(const std::filesystem::path& path, int threads);

/// Parts that are one job, by index. `parts[i]` may be empty (not read, or not used).
///
/// One job: the same folder, the same size of the world, every rank once, and times that overlap or lie less
/// than ten minutes apart. A rank that appears twice begins the next run; a part that holds a whole job is
/// one. A part that equals another is left out, as is a timeline that was made from a table of operations
/// beside it: `parts[i]` becomes empty and `why[i]` says so.
struct Grouping {
  std::vector<std::vector<std::size_t>> groups;
  std::vector<std::string> names;  ///< of the groups
  std::vector<std::string> why;    ///< per part
};
[[nodiscard]] Grouping group_parts(const std::vector<Input>& inputs,
                                   std::vector<std::optional<ImportedJob>>& parts);

}  // namespace cox::trace
