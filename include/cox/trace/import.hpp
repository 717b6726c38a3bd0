// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whatever a cluster left behind, as Runs and programs: profiler traces, rings, tables,
/// MPI traces, and our own folders.
///
/// Which formats there are and what each is mapped to: docs/reference/inputs.md.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/model/program.hpp"
#include "cox/trace/read.hpp"
#include "cox/trace/run.hpp"

namespace cox::trace {

struct ImportOptions {
  int threads = 0;  ///< 0 = one per core
  Progress progress{};
  /// Most decompressed bytes taken from one file; beyond, the file is a bomb or wants to be split.
  std::uint64_t limit_bytes = std::uint64_t{64} << 30;
};

/// One job: what happened, and what it did operation by operation where the input tells that (else empty).
struct ImportedJob {
  Run run;
  model::Program program;
  /// Other jobs of the same file, named in `info.name`: a table may hold several. Empty in what `import_path`
  /// returns, where each is a job of its own.
  std::vector<Run> further_runs{};
};

/// What was found at a path.
struct Imported {
  std::vector<ImportedJob> jobs;    ///< by name of the run; at least one
  std::vector<SourceFile> sources;  ///< every file looked at, by name
  std::vector<SourceFile> unread;   ///< of these, what could not be opened, unpacked or read, and why
};

/// Reads a file, or a folder and what is in it, of any supported format; the format is found by content.
///
/// Files of one job become one, also where their formats differ; a duplicate is used once. A file that
/// cannot be used is a SourceFile with the reason, not an error, as long as another one can.
/// Errors:  trace-001 (nothing there), trace-003 (our own, newer), import-001 (no file of a known format;
///          names what was found), import-002 (a single file of a known format that cannot be used).
/// Threads: files are read in parallel; the result does not depend on how many threads.
/// Held by: src/trace/import/import_test.cpp, tests/property
[[nodiscard]] Result<Imported> import_path(const std::filesystem::path& path,
                                           const ImportOptions& options = {});

}  // namespace cox::trace
