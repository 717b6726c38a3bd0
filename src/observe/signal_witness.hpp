// SPDX-License-Identifier: Apache-2.0
/// \file
/// Whether a signal that reached `cox observe` was sent to every process of the job.
#pragma once

#include <sys/types.h>

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

}  // namespace cox::observe
