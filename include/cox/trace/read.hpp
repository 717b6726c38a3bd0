// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reading a Run folder: raw files of a job that runs, ended or was killed, and compacted ones.
#pragma once

#include <filesystem>
#include <functional>

#include "cox/base/result.hpp"
#include "cox/trace/run.hpp"

namespace cox::trace {

/// Called now and then with work done and work in all (files or steps); may be empty.
using Progress = std::function<void(std::int64_t done, std::int64_t total)>;

struct ReadOptions {
  int threads = 0;  ///< 0 = one per core
  Progress progress{};
};

/// Opens a Run folder (or one of its files).
///
/// Whatever is complete is used: files cut at any byte keep their complete chunks, and each loss becomes a
/// Note. Errors:  trace-001 (nothing there), trace-002 (no file of ours in it; names what was found),
/// trace-003 (a newer
///          format version). A damaged file beside good ones is a Note, not an error.
/// Threads: files are read in parallel; the result does not depend on how many threads.
/// Cost:    linear; about 35 bytes of memory per event.
/// Held by: src/trace/run/read_test.cpp, tests/property/cut_run.cpp, tests/e2e
[[nodiscard]] Result<Run> open_run(const std::filesystem::path& path, const ReadOptions& options = {});

}  // namespace cox::trace
