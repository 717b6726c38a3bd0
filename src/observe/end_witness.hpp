// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which process of the job ended first, seen from beside it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <thread>
#include <vector>

#include "cox/trace/run.hpp"

namespace cox::observe {

/// Processes of this host that began to record, and those of them that ended, in that order.
struct SeenEnds {
  struct End {
    pid_t process = 0;
    std::int64_t realtime_ns = 0;
    /// the others that had not ended were alive after that, each with its main thread
    bool was_alone = false;
    std::size_t began = 0;  ///< how many had begun by then
  };
  /// A process whose file takes no more.
  struct Unwritten {
    pid_t process = 0;
    int error = 0;  ///< errno
  };
  std::vector<pid_t> began{};
  std::vector<End> ended{};
  std::vector<Unwritten> unwritten{};
};

/// Waits beside the job for its processes to begin and to end.
///
/// Why: a rank that a signal kills says nothing, its launcher ends the others at once, and their files end with the same
/// third of a second. A guest knocks at a socket here when it begins; the kernel tells of the end of its process
/// before it tells the parent, and keeps the order for whoever looks late. A launcher may act earlier, on a connection that
/// closes with the main thread while another thread of the process is still ending: so it is looked who else is dead.
/// Cost:    a thread that sleeps, and a descriptor per rank of this host. Nothing is read while the job runs.
/// Held by: src/observe/end_witness_test.cpp, tests/e2e/first_end_test.py
class EndWitness {
 public:
  /// Listens for guests of the Run in `dir`, which exists. Where that is not possible nothing will be seen.
  explicit EndWitness(const std::filesystem::path& dir);
  ~EndWitness();
  EndWitness(const EndWitness&) = delete;
  EndWitness& operator=(const EndWitness&) = delete;

  /// Begins to look, in a thread of its own; call after the last fork.
  void start();
  /// All that was seen until now; it looks no longer.
  [[nodiscard]] SeenEnds stop();

 private:
  void watch();
  bool greet_some();
  void watch_process(pid_t pid);
  [[nodiscard]] bool hears_of_failure(int caller, pid_t pid);
  void stop_listening();
  [[nodiscard]] bool take(std::uint64_t tag);
  [[nodiscard]] bool others_live() const;

  int listener_ = -1;
  int events_ = -1;
  int stop_ = -1;
  std::thread thread_{};
  std::vector<int> processes_{};  ///< descriptors, beside `seen_.began`
  int strangers_ = 0;             ///< who knocked and is not of this user
  SeenEnds seen_{};
};

/// The rank that ended before any other, of the Run in `dir`.
///
/// Rule: only where all ranks of its world left a file and were seen to begin. `RankEnd::kCutOff` where it left its record open, and all
///       others were alive after that; `kInOrder` where it closed its record, which alone blames nobody: it may have
///       failed because of another, or the others because of it.
[[nodiscard]] std::optional<trace::RankEnd> first_end(const std::filesystem::path& dir, const SeenEnds& seen);

/// Ranks of the Run in `dir` that said that their files take no more, in order; -1 of a process whose file tells no rank.
[[nodiscard]] std::vector<trace::UnwrittenRank> unwritten_ranks(const std::filesystem::path& dir,
                                                                const SeenEnds& seen);

}  // namespace cox::observe
