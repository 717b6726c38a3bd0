// SPDX-License-Identifier: Apache-2.0
/// \file
/// Putting the folders of several hosts together: what one job left in many places becomes one Run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/trace/run.hpp"

namespace cox::trace {

struct CollectReport {
  std::int64_t processes = 0;  ///< files of processes in the new Run
  std::int64_t repeated = 0;   ///< files that two inputs hold alike; taken once
  std::int64_t kept_raw = 0;   ///< of them left raw: cut, damaged, or written by a process that may still run
  Bytes bytes{};               ///< of the new folder's process files
  std::vector<Note> notes;
};

/// Copies all process files of the inputs (Run folders or single files) into the new folder `out`, compacts
/// those that are whole, and writes a run.json from the inputs'. The inputs stay as they are; files of one
/// name and different content are both kept. `out` appears when all of it is there, or not at all.
///
/// Errors: trace-001, trace-002 (an input holds no Run), base-005 (`out` exists), base-002, base-006.
/// Cost: reads and writes every file once or twice. Held by: src/trace/store/collect_test.cpp
[[nodiscard]] Result<CollectReport> collect_runs(const std::vector<std::filesystem::path>& inputs,
                                                 const std::filesystem::path& out, int threads = 0);

}  // namespace cox::trace
