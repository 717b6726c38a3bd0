// SPDX-License-Identifier: Apache-2.0
/// \file
/// Synthetic Runs whose answer is known, and the files that a guest would have left of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/ids.hpp"
#include "cox/base/units.hpp"
#include "cox/trace/run.hpp"

namespace cox::test {

/// Work that some rank does beyond the others' share, in each step of [first_step, last_step].
struct ExtraWork {
  int rank = 0;
  Duration amount{};
  int first_step = 0;
  int last_step = INT32_MAX;
  /// Steps after which the extra moves on to the next rank; 0 = it stays with `rank`.
  int rotate_every = 0;
};

/// A bulk-synchronous job: per step each rank works, then all meet in `collectives` all-reduces in turn.
struct RunShape {
  int ranks = 8;
  int steps = 100;
  int collectives = 1;                            ///< per step; the step's work is spread evenly before them
  Duration work = std::chrono::milliseconds{10};  ///< own work per rank and step
  /// Standard deviation of that work, normal, per rank and step.
  Duration jitter = std::chrono::microseconds{100};
  Duration transfer = std::chrono::milliseconds{1};  ///< from the last entry to everybody's return
  Bytes bytes{25'000'000};                           ///< per collective
  std::uint64_t seed = 1;
  std::vector<ExtraWork> extras{};
  int nodes = 1;                         ///< ranks lie on nodes in equal blocks
  std::vector<Duration> clock_offset{};  ///< per node: what its clock shows too much; missing = 0
  bool step_marks = true;                ///< a Step record at the begin of each step
  std::string name = "synthetic";
};

/// The Run that such a job leaves: in each collective all return together, `transfer` after the last entry.
/// The first event begins at the origin where clocks have no offset. Same shape, same Run, on every machine.
[[nodiscard]] trace::Run make_run(const RunShape& shape);

struct RawShape {
  double ticks_per_second = 1e9;  ///< 1e9: nanoseconds of the monotonic clock; else a time-stamp counter
  std::uint32_t chunk_bytes = 4096;
  trace::WriterState state = trace::WriterState::Closed;
  std::uint64_t boot_ns = 5'000'000'000'000;  ///< the monotonic clock at the Run's origin
};

/// The `.coxraw` file that a guest of this rank would have left, as bytes. Times are rounded to whole ticks.
[[nodiscard]] std::string raw_file(const trace::Run& run, const trace::RankTrack& track,
                                   const RawShape& shape = {});

/// All ranks of a Run as `rank-NNNNNN.coxraw` in `dir`, which is made.
/// Returns false where a file cannot be written.
[[nodiscard]] bool write_raw_files(const trace::Run& run, const std::filesystem::path& dir,
                                   const RawShape& shape = {});

/// The first difference between two Runs in words, notes and run.json aside; empty where there is none.
[[nodiscard]] std::string difference(const trace::Run& a, const trace::Run& b);

/// An empty folder of this process's own, removed with its content at the end of the object's life.
class ScratchDir {
 public:
  ScratchDir();
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;
  ~ScratchDir();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// The whole file; fails the calling test's expectations by being empty where it cannot be read.
[[nodiscard]] std::string file_content(const std::filesystem::path& path);
void put_file(const std::filesystem::path& path, std::string_view content);

}  // namespace cox::test
