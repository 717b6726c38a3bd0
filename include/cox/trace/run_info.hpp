// SPDX-License-Identifier: Apache-2.0
/// \file
/// run.json: what the launcher knew about a Run (format cox.run/1, docs/reference/run-format.md).
#pragma once

#include <filesystem>
#include <optional>

#include "cox/base/file.hpp"
#include "cox/base/result.hpp"
#include "cox/trace/run.hpp"

namespace cox::trace {

/// Writes `<dir>/run.json`, replacing an earlier one of the same Run. Errors: base-006.
[[nodiscard]] Status write_run_info(const std::filesystem::path& dir, const RunInfo& info,
                                    Rights rights = Rights::Everyone);

/// Writes `<dir>/run.json` where there is none; of several that try at once exactly one does. Errors:
/// base-005 (there is one), base-006.
[[nodiscard]] Status create_run_info(const std::filesystem::path& dir, const RunInfo& info,
                                     Rights rights = Rights::Everyone);

/// Adds one line to `<dir>/run.ends`: how a rank ended that did not end with status 0. Ranks of one launch
/// append at the same time. Errors: base-006.
[[nodiscard]] Status append_rank_end(const std::filesystem::path& dir, const RankEnd& end, Rights rights);

/// Reads `<dir>/run.json`, and `run.ends` beside it; nothing where there is no run.json. Errors: trace-004
/// (not ours, damaged, over 1 MB).
[[nodiscard]] Result<std::optional<RunInfo>> read_run_info(const std::filesystem::path& dir);

}  // namespace cox::trace
