# SPDX-License-Identifier: Apache-2.0
"""Signals to, and waits for, one process or one group that is named by a positive number.

os.kill(-1, ...) as root ends every process of the machine, so nothing in the tests but this file calls it (or killpg, or
waitpid); a number that names nobody is refused here. Held by: layer/processes, tests/layer/processes_test.py
"""
import os


def _named(number, least):
    if not isinstance(number, int) or isinstance(number, bool) or number < least:
        raise ValueError(f"{number!r} is the number of no process or group")
    return number


def signal_process(process, number):
    os.kill(_named(process, 1), number)


def signal_group(group, number):
    """Not for group 1: its negative is everybody."""
    os.killpg(_named(group, 2), number)


def wait_process(process, flags=0):
    """The process's number and status, as os.waitpid gives them."""
    return os.waitpid(_named(process, 1), flags)
