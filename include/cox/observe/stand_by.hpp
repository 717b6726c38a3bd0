// SPDX-License-Identifier: Apache-2.0
/// \file
/// What `cox observe` is to its job and to who started it: nothing that they could notice.
#pragma once

namespace cox::observe {

/// From here on a file that may not grow and a reader that has gone are errors to us and no end (SIGXFSZ, SIGPIPE).
void ignore_own_failures();
/// Between fork and exec: what `ignore_own_failures` changed is put back for the job.
void restore_failures();

/// Whether the signal would have ended us: nobody handled or ignored it when we were started.
[[nodiscard]] bool would_end_us(int signal);

/// Closes what the job inherited through us, and standard input and output: who waits for the last holder of a pipe
/// waits for the job alone. Not where a launcher started us as a rank: it watches what it gave us (PMI_FD). Ours are told
/// by their close-on-exec mark and stay open, as does standard error and a file in which this process holds a POSIX record
/// lock, which ends with the first descriptor that is closed.
/// Held by: tests/e2e/launch_test.sh
void let_go_of_inherited();

/// Ends this process by the signal that ended the job, so that who started us sees what it would have seen; without a
/// core of ours. Returns where the signal is no end (that is so for the first process of a container).
/// Held by: tests/e2e/launch_test.sh, tests/e2e/killed_test.py
void end_by(int signal);

}  // namespace cox::observe
