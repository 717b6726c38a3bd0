// SPDX-License-Identifier: Apache-2.0
/// \file
/// Updates written down, and read back: of virtual time or of real processes, the same lines (docs/reference/updates-csv.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>

#include "cox/base/result.hpp"
#include "cox/base/units.hpp"
#include "cox/sync/stream.hpp"

namespace cox::sync {

/// Writes the lines of a job that begins with `workers` workers. Times are written so that they are read as the same number.
/// Cost: a line of some 30 bytes per event, nothing is kept. Threads: one owner.
/// Held by: src/sync/stream_file_test.cpp
class StreamWriter {
 public:
  StreamWriter(std::ostream& to, int workers);
  void add(const StreamEvent& event, Seconds at);

 private:
  std::ostream& to_;
};

/// Whether the file says that it holds updates (its first line begins with `# cox.updates/`).
[[nodiscard]] bool holds_stream(const std::filesystem::path& path);

/// Takes `workers` once, before the first event.
using StreamBegin = std::function<Status(int workers)>;
/// Takes an event; false ends the reading, and so does an error, which is returned.
using StreamTake = std::function<Result<bool>(const StreamEvent& event, Seconds at)>;

/// Reads a file of updates. What it says is checked by a ledger: versions rise by one, an update was computed at what its worker
/// had read, times do not fall.
/// Errors: sync-001 (no file that can be read to its end; with the line: another format, a line that cannot be read, an event
/// that cannot be); those of `begin` and, with the line, `take`. Memory: a line, and O(workers). Cost: some 100 ns per line.
/// Held by: src/sync/stream_file_test.cpp, fuzz/updates_fuzz.cpp
[[nodiscard]] Status read_stream(const std::filesystem::path& path, const StreamBegin& begin,
                                 const StreamTake& take);
/// The same from a stream; `name` is what errors call it.
[[nodiscard]] Status read_stream(std::istream& from, const std::string& name, const StreamBegin& begin,
                                 const StreamTake& take);

}  // namespace cox::sync
