#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How often the right rank is named: 8 ranks, 10 ms of timed sleep as work, one of them 3 ms longer, another one each
job; and as many jobs in which nobody is slow, where nobody may be named.

usage: skew_trials.py BUILD SOURCE openmpi|mpich|gloo [JOBS [STEPS]]
At least 19 of 20 of each kind must be right (of fewer jobs: at most one wrong). Exit 0 = so, 1 = not, 77 = cannot run.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

build, library = os.path.realpath(sys.argv[1]), sys.argv[3]
jobs = int(sys.argv[4]) if len(sys.argv) > 4 else 20
steps = int(sys.argv[5]) if len(sys.argv) > 5 else 100
RANKS, EXTRA_MS = 8, 3
cox = os.path.join(build, "cox")
environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD" and not k.startswith("COX_")}
environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
if library == "gloo":
    program, front = os.path.join(build, "gloo_skew"), []
else:
    program = os.path.join(build, "tests", "e2e", f"guest_trials.{library}")
    front = [f"mpirun.{library}"]
    if library == "openmpi":
        front += ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
    front += ["-n", str(RANKS)]
if not os.access(program, os.X_OK) or (front and not shutil.which(front[0])):
    print(f"SKIP: {os.path.basename(program)} or its launcher is not here")
    sys.exit(77)


def trial(slow):
    arguments = [str(steps), str(slow), str(EXTRA_MS)]
    job = ["timeout", "60", *front, program, *([str(RANKS)] if library == "gloo" else ["skew"]), *arguments]
    with tempfile.TemporaryDirectory(prefix="cox-skew.") as work:
        run = os.path.join(work, "run")
        done = subprocess.run([cox, "observe", "-o", run, "--", *job], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
        told = subprocess.run([cox, "diagnose", run, "--json"], env=environment, capture_output=True, text=True)
        assert told.returncode == 0, (told.returncode, told.stderr)
        result = json.loads(told.stdout)["result"]
        assert result["coverage"] == 1.0, result["coverage_detail"]
        return [f["rank"] for f in result["findings"] if f["rank"] is not None]


right = quiet = 0
for i in range(jobs):
    slow = (5 * i + 3) % RANKS
    named, nobody = trial(slow), trial(-1)
    right += named[:1] == [slow]
    quiet += nobody == []
    print(f"job {i}: rank {slow} slow: named {named}; none slow: named {nobody}", flush=True)
allowed = max(1, jobs // 20)
print(f"{library}: right rank in {right} of {jobs}; nobody named in {quiet} of {jobs} without a slow rank")
sys.exit(0 if min(right, quiet) >= jobs - allowed else 1)
