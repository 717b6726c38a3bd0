#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A number that names no process or group reaches no system call. Only signal 0 is sent here, which asks and does nothing."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))
import processes  # noqa: E402


def refused(call, *arguments):
    try:
        call(*arguments)
    except ValueError:
        return True
    return False


for number in (0, -1, -os.getpid(), None, "1", True, 1.0):
    assert refused(processes.signal_process, number, 0), number
    assert refused(processes.wait_process, number), number
for number in (1, 0, -1, None, "2", True):
    assert refused(processes.signal_group, number, 0), number
processes.signal_process(os.getpid(), 0)
if os.getpgrp() != os.getpid():
    os.setpgid(0, 0)  # in a PID namespace the group that one is born into may have no number
processes.signal_group(os.getpgrp(), 0)
child = os.posix_spawn("/bin/true", ["true"], os.environ)
assert processes.wait_process(child) == (child, 0)
