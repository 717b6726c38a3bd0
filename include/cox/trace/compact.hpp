// SPDX-License-Identifier: Apache-2.0
/// \file
/// From fixed-size records to compressed columns: `.coxraw` to `.cox`,
/// and Runs made by other rooms to `.cox`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/trace/run.hpp"

namespace cox::trace {

struct CompactReport {
  std::int64_t files = 0;     ///< raw files compacted
  std::int64_t kept_raw = 0;  ///< raw files left as they are (their process still runs)
  std::int64_t events = 0;
  Bytes raw_bytes{};  ///< of the records alone
  Bytes compact_bytes{};
  std::vector<Note> notes;
};

/// Which raw files are compacted. `ThisHost`: those that processes of this machine wrote
/// and that are gone. `Observer`: of those, what was recorded below one `cox observe` of many that share a
/// folder; no other file is opened. For several that compact one shared folder at the end of one launch: each
/// file is compacted by exactly one of them.
enum class CompactScope : std::uint8_t { All, ThisHost, Observer };

/// Compacts each raw file of a Run folder into a `.cox` file beside it and removes the raw one once the new
/// file was read back and compared. Safe to call while the job runs: files of living processes are left
/// alone. `observer`: the process id of the `cox observe`, for that scope. Errors: trace-001, trace-002, base-006. Held by: src/trace/store/compact_test.cpp
[[nodiscard]] Result<CompactReport> compact_run(const std::filesystem::path& dir, int threads = 0,
                                                CompactScope scope = CompactScope::All,
                                                std::int64_t observer = 0);

/// Whether `write_run` could make this folder: it is not there, or is empty. To be asked before long work.
/// Errors: base-005.
[[nodiscard]] Status check_new_run(const std::filesystem::path& dir);

/// Writes a Run (simulated or imported) as a folder of `.cox` files plus run.json, times in picosecond ticks.
/// Errors: base-005 (folder exists and is not empty), base-006.
[[nodiscard]] Status write_run(const Run& run, const std::filesystem::path& dir, int threads = 0);

}  // namespace cox::trace
