// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whether somebody outside asked the job to end, and it ended of that: an interrupted job has not failed.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>

namespace cox::observe {

/// Signals that ask a program to end (INT, TERM, HUP, QUIT), as they reach `cox observe`. Not counted: what the job's own
/// processes send (`kill 0` in a job script's trap), and what was ignored when we were started (nohup), which the job ignores,
/// too. One that the job outlived by more than half a minute, as long as schedulers wait between SIGTERM and SIGKILL, has not
/// ended it, unless its status says so.
/// Threads: one owner. Held by: src/observe/told_to_end_test.cpp, tests/e2e/true_end_test.sh
class ToldToEnd {
 public:
  using Clock = std::chrono::steady_clock;

  /// Looks at what is ignored. Before the job is started.
  ToldToEnd();
  /// `job`: the process that was started.
  void hear(const siginfo_t& info, pid_t job, Clock::time_point now = Clock::now());
  /// The signal, or 0. `status` as of wait().
  [[nodiscard]] int ended(int status, Clock::time_point now = Clock::now()) const;

 private:
  sigset_t ignored_{};
  int signal_ = 0;
  Clock::time_point at_{};
};

}  // namespace cox::observe
