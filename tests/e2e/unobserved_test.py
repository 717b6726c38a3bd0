#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Calls that are counted and not recorded: `cox diagnose` says of each kind how many there were, in JSON and in words,
as the program says; also of a program that uses MPI sessions alone, of which nothing else is known.

usage: unobserved_test.py BUILD SOURCE LIBRARY
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

build, library = os.path.realpath(sys.argv[1]), sys.argv[3]
cox = os.path.join(build, "cox")
program = os.path.join(build, "tests", "e2e", f"unobserved.{library}")
launcher = shutil.which(f"mpirun.{library}")
if not launcher or not os.access(program, os.X_OK):
    print(f"SKIP: no mpirun.{library}, or unobserved.{library} was not built")
    sys.exit(77)
clean = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD" and not k.startswith("COX_")}
clean |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
yielding = ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"] if library == "openmpi" else []
KINDS = ("sessions", "one_sided", "files", "large_counts", "fault_tolerance", "messages", "processes")


def run(command):
    return subprocess.run(command, env=clean, capture_output=True, text=True, timeout=120)


def check(work, *arguments):
    folder = os.path.join(work, "run-" + "-".join(arguments))
    job = [launcher, *yielding, "-n", "2", program, os.path.join(work, "file"), *arguments]
    plain = run(job)
    done = run([cox, "observe", "-o", folder, "--", *job])
    assert done.returncode == plain.returncode and done.stdout == plain.stdout, (plain, done)
    if plain.returncode == 77:
        return "not tried: the library has no sessions"
    expected = dict.fromkeys(KINDS, 0) | {k: int(n) for k, n in re.findall(r"counted (\w+) (\d+)", done.stdout)}
    if arguments:  # there is nothing to diagnose but this
        told = run([cox, "diagnose", folder])
        assert told.returncode != 0 and f"sessions {expected['sessions']}" in told.stderr, (told.returncode, told.stderr)
        return {k: n for k, n in expected.items() if n}
    told = run([cox, "diagnose", folder, "--json"])
    assert told.returncode == 0, (done.stderr, told.stderr)
    result = json.loads(told.stdout)["result"]
    assert result["coverage_detail"]["unobserved_calls"] == expected, (result["coverage_detail"], expected)
    gap = [gap for gap in result["cannot_tell"] if "counted and not recorded" in gap]
    assert len(gap) == 1 and all(str(n) in gap[0] for n in expected.values() if n), (result["cannot_tell"], expected)
    words = re.sub(r"\s+", " ", run([cox, "diagnose", "--all", folder]).stdout)
    assert "counted and not recorded" in words, words
    return {k: n for k, n in expected.items() if n}


with tempfile.TemporaryDirectory(prefix="cox-e2e.") as scratch:
    print("with MPI_Init:", check(scratch))
    print("with sessions alone:", check(scratch, "session"))
