// SPDX-License-Identifier: Apache-2.0
/// \file
/// Who still records into a Run, and how to end that while the job goes on.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

#include "cox/base/result.hpp"

namespace cox::observe {

/// The processes that have a raw file in a Run folder. A compacted file is nobody's any more.
struct Recording {
  std::int64_t here = 0;  ///< record, and run on this machine
  /// record, and run on another machine or in a container that is not seen from here
  std::int64_t elsewhere = 0;
  std::int64_t stopped = 0;  ///< have been detached or switched recording off
  std::int64_t over = 0;     ///< closed their file, or are gone
  bool has_ended = false;    ///< the command has ended, as run.json says, and nobody records: of `detach`
};
[[nodiscard]] Recording look_at_recording(const std::filesystem::path& dir);

/// Looks until no process of this machine records there any more, at most for `patience`.
[[nodiscard]] Recording wait_for_end(const std::filesystem::path& dir, std::chrono::milliseconds patience);

/// Tells every process that records into the Run to stop, and waits until those of this machine have. Their
/// hooks become direct jumps, pacing ends, and the job goes on. It cannot be undone. Of a job that has ended nothing changes.
/// Errors: observe-011 (no Run of `cox observe`), base-006, what `trace::read_run_info` says.
/// Held by: tests/e2e/detach_test.py
[[nodiscard]] Result<Recording> detach(const std::filesystem::path& dir, std::chrono::milliseconds patience);

/// Why a guest could not begin its file in that folder now: a full disk, a limit, missing rights. Empty where
/// it could. Tries it with a file of its own, which it removes.
[[nodiscard]] std::string why_no_file(const std::filesystem::path& dir);

}  // namespace cox::observe
