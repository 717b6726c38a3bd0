// SPDX-License-Identifier: Apache-2.0
/// \file
/// What signals that reach `cox observe` mean: whether every process of the job got one, whether the job ended of it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <ctime>
#include <vector>

namespace cox::observe {

/// A process beside the job that waits for signals and tells which it got.
///
/// Why: schedulers and launchers signal one process, a process group, or every process of a step, and nothing
/// in the signal says which. Passed on after the second or third, it would reach the job twice, and a
/// SIGUSR1 that asks for a checkpoint is no idempotent thing. What the witness got too, the job got itself.
/// Held by: tests/e2e/signals_test.py
class SignalWitness {
 public:
  /// Forks; `watched` are blocked in this process already. Without a process to spare there is no witness, and
  /// every signal is passed on.
  explicit SignalWitness(const sigset_t& watched);
  /// Ends it, and waits for that.
  ~SignalWitness();
  SignalWitness(const SignalWitness&) = delete;
  SignalWitness& operator=(const SignalWitness&) = delete;

  /// Whether it got this signal from the same sender, now or within a tenth of a second.
  [[nodiscard]] bool saw(const siginfo_t& info);

 private:
  struct Seen {
    int signal;
    pid_t sender;
    std::time_t at_s;
  };
  [[nodiscard]] bool take(const siginfo_t& info);
  void read_all();

  pid_t process_ = -1;
  int pipe_ = -1;
  std::vector<Seen> seen_;
};

/// Signals that ask a program to end (INT, TERM, HUP, QUIT), as they reach `cox observe`. Not counted: what the job's own
/// processes send (`kill 0` in a job script's trap), nor what all of the group got of a sender who is gone by then, as such a script
/// is. One that the job outlived by five minutes (time to save what it did, and more than schedulers wait before SIGKILL) has not
/// ended it, unless its status says so; of one that was ignored when we were started (nohup), which most programs ignore then,
/// too, ten seconds.
/// Threads: one owner. Held by: src/observe/signal_witness_test.cpp, tests/e2e/signals_test.py
class ToldToEnd {
 public:
  using Clock = std::chrono::steady_clock;

  /// Looks at what is ignored. Before the job is started.
  ToldToEnd();
  /// `job`: the process that was started; `all`: every process of the group got it.
  void hear(const siginfo_t& info, pid_t job, bool all, Clock::time_point now = Clock::now());
  /// The signal, or 0. `status` as of wait().
  [[nodiscard]] int ended(int status, Clock::time_point now = Clock::now()) const;
  /// How long ago it came.
  [[nodiscard]] std::chrono::seconds age(Clock::time_point now = Clock::now()) const;

 private:
  sigset_t ignored_{};
  int signal_ = 0;
  Clock::time_point at_{};
};

}  // namespace cox::observe
