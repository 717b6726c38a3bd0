// SPDX-License-Identifier: Apache-2.0
/// \file
/// Which processes run on a machine, in which state, and what its monotonic clock says: the little of /proc
/// that tells a process of a job that is stopped from one that computes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace cox {

/// One process as /proc/PID/stat shows it.
struct ProcessFacts {
  char state = 0;  ///< R running or ready, S D I sleeping, T t stopped, Z X gone
  /// Field 22: clock ticks after boot; tells it from a later one of its number.
  std::uint64_t start_ticks = 0;
  std::int64_t started_ns = 0;  ///< the same on the monotonic clock, right to a tick (usually 10 ms)
  /// Its main thread has begun to end (PF_EXITING of field 9): descriptors may be closed already, while the state is still R or D.
  bool is_ending = false;
};

/// A process's number, and the PID namespace (its inode) that the number is of; 0 = that of whoever looks.
struct ProcessNumber {
  int pid = 0;
  std::uint64_t pid_namespace = 0;
};

/// A machine's processes. Two of them: `this_machine()`, and `ListedProcesses` for tests.
class ProcessTable {
 public:
  ProcessTable() = default;
  ProcessTable(const ProcessTable&) = delete;
  ProcessTable& operator=(const ProcessTable&) = delete;
  virtual ~ProcessTable() = default;

  /// Equal on all processes under one running kernel; empty where it cannot be read.
  [[nodiscard]] virtual std::string boot_id() const = 0;
  /// Inode of the time namespace; 0 where it cannot be read.
  [[nodiscard]] virtual std::uint64_t time_namespace() const = 0;
  [[nodiscard]] virtual std::int64_t monotonic_ns() const = 0;
  /// Nothing where no such process is seen from here.
  [[nodiscard]] virtual std::optional<ProcessFacts> find(ProcessNumber process) const = 0;
  /// Whether no process of a PID namespace can be hidden from here: it is the own one, or the own one is the
  /// machine's first. Only then is a process that `find` does not find gone.
  [[nodiscard]] virtual bool sees_all_of(std::uint64_t pid_namespace) const = 0;
};

/// The machine that this runs on, read anew at each call. Errors: what cannot be read counts as not there.
/// Threads: any. Cost: some system calls each; to find a process of another PID namespace, some per process. Held by: src/base/process_table_test.cpp
[[nodiscard]] const ProcessTable& this_machine();

/// A machine in memory, for tests.
class ListedProcesses final : public ProcessTable {
 public:
  std::string boot;
  std::uint64_t time_inode = 0;
  std::int64_t now_ns = 0;
  std::map<int, ProcessFacts> processes;
  std::uint64_t pid_inode = 0;  ///< the PID namespace that `processes` are of; it is all that is seen

  [[nodiscard]] std::string boot_id() const override { return boot; }
  [[nodiscard]] std::uint64_t time_namespace() const override { return time_inode; }
  [[nodiscard]] std::int64_t monotonic_ns() const override { return now_ns; }
  [[nodiscard]] std::optional<ProcessFacts> find(ProcessNumber process) const override {
    const auto at = processes.find(process.pid);
    return at == processes.end() || !sees_all_of(process.pid_namespace) ? std::nullopt
                                                                        : std::optional(at->second);
  }
  [[nodiscard]] bool sees_all_of(std::uint64_t pid_namespace) const override {
    return pid_namespace == 0 || pid_namespace == pid_inode;
  }
};

/// State and start from the text of /proc/PID/stat. The program's name in it may hold blanks and parentheses.
/// `started_ns` stays zero. Nothing where the text is not of that form.
[[nodiscard]] std::optional<ProcessFacts> parse_process_stat(std::string_view text);

}  // namespace cox
