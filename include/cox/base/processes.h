/* SPDX-License-Identifier: Apache-2.0 */
/// \file
/// Signals to, and waits for, one process or one group that is named by a positive number. C or C++; libc
/// only.
///
/// Why:     a fork that fails returns -1, and to the kernel -1 is everybody: as root `kill(-1, SIGKILL)` ends
///          every process of the machine. So nothing but this file calls kill, waitpid or their like (wait,
///          for any child, takes no number); a number that names nobody is refused here with EINVAL.
/// Held by: layer/processes, src/base/processes_test.cpp
#pragma once

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>

/// kill(2) for one process. Number 0 sends nothing and tells whether it is there.
static inline int cox_signal_process(pid_t process, int number) {
  if (process > 0) return kill(process, number);
  errno = EINVAL;
  return -1;
}

/// kill(2) for a whole process group. Not for group 1, whose negative is everybody.
static inline int cox_signal_group(pid_t group, int number) {
  if (group > 1) return kill(-group, number);
  errno = EINVAL;
  return -1;
}

/// waitpid(2) for one child.
static inline pid_t cox_wait_process(pid_t process, int* status, int flags) {
  if (process > 0) return waitpid(process, status, flags);
  errno = EINVAL;
  return -1;
}

/// The same, and what the child has used.
static inline pid_t cox_wait_process_usage(pid_t process, int* status, int flags, struct rusage* used) {
  if (process > 0) return wait4(process, status, flags, used);
  errno = EINVAL;
  return -1;
}

/// waitid(2) for one child: it can also look without taking the status away (WNOWAIT).
static inline int cox_wait_process_state(pid_t process, siginfo_t* state, int flags) {
  if (process > 0) return waitid(P_PID, (id_t)process, state, flags);
  errno = EINVAL;
  return -1;
}
