#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The rank that was cut off first is named where cox observe stands in front of the launcher.

Nobody may be named in its place. Three in four must be named. On fewer cores than ranks it may be nobody under MPICH and
Gloo, whose other ranks end before it was looked. Of a rank that raises an exception it is said that it ended in order before a call of
the others, where their records reach that far.

usage: first_end_test.py BUILD SOURCE WAY [TIMES]
WAY: openmpi, mpich, gloo (a rank is killed), ddp (one raises an exception)
"""
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))
from processes import signal_process  # noqa: E402

build, source, way = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2]), sys.argv[3]
times = int(sys.argv[4]) if len(sys.argv) > 4 else 2
cox = os.path.join(build, "cox")
environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD" and not k.startswith("COX_")}
environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
RANKS = 4


def need(path):
    if path is None or not os.access(path, os.X_OK):
        print(f"SKIP: {way}: a program or its launcher is not here")
        sys.exit(77)
    return path


def mpi(library, program, *given):
    more = ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"] if library == "openmpi" else []
    return [need(shutil.which(f"mpirun.{library}")), "-n", str(RANKS), *more,
            need(os.path.join(build, "tests", "e2e", f"{program}.{library}")), *map(str, given)]


def command(victim):
    if way in ("openmpi", "mpich"):
        return mpi(way, "stencil", "waitall", 400, 1000, victim, 0, 10, -100)
    if way == "gloo":
        return [need(os.path.join(build, "examples", "gloo_train")), "--ranks", str(RANKS), "--steps", "100000"]
    if subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True).returncode != 0:
        print("SKIP: no PyTorch (package python3-torch)")
        sys.exit(77)
    return ["/usr/bin/python3", os.path.join(source, "examples", "torch_ddp.py"), "--ranks", str(RANKS), "--steps", "60",
            "--batch", "64", "--slow-rank", str(victim), "--fault", "raise"]


def process_of(folder, rank):
    """Its number as its file says, once it has one."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            if name.endswith(".coxraw"):
                with open(os.path.join(folder, name), "rb") as f:
                    f.seek(48)
                    numbers = f.read(12)
                if len(numbers) == 12:
                    pid, _, its = struct.unpack("<iii", numbers)
                    if its == rank and pid > 0:
                        return pid
        time.sleep(0.05)
    raise AssertionError(f"rank {rank} did not begin")


def once(victim, folder):
    out = os.path.join(folder, "run")
    job = subprocess.Popen([cox, "observe", "-o", out, "--"] + command(victim), stdout=subprocess.DEVNULL,
                           stderr=subprocess.PIPE, text=True, env=environment)
    if way == "gloo":
        process = process_of(out, victim)
        for rank in range(RANKS):
            process_of(out, rank)
        time.sleep(random.uniform(0, 0.7))
        signal_process(process, signal.SIGKILL)
    said = job.communicate(timeout=120)[1]
    assert job.returncode != 0, said
    told = subprocess.run([cox, "diagnose", out, "--json"], capture_output=True, text=True, env=environment, timeout=60)
    assert told.returncode in (0, 1), told.stderr
    result = json.loads(told.stdout)["result"]
    ending = result["ending"]
    assert result["outcome"] == "job_failed" and ending is not None, result["outcome"]
    absent = ending["absent_rank"]
    if way == "ddp" and absent is not None:
        assert absent == victim and ending["first_rank"] in (None, victim), "WRONG: " + ending["text"]
        return ending["text"]
    assert absent is None, "WRONG: " + ending["text"]
    if ending["first_rank"] is None:
        return None
    assert ending["first_rank"] == victim, "WRONG: " + ending["text"]
    assert ending["first_was_cut"], ending["text"]
    return ending["text"]


named = silent = wrong = 0
text = ""
for i in range(times + 3):
    if i >= times and (way != "ddp" or named > 0):  # whose other ranks may fail before it has ended
        break
    with tempfile.TemporaryDirectory(prefix="cox-e2e.") as folder:
        try:
            told = once((i + 1) % RANKS, folder)
            named += told is not None
            silent += told is None
            text = told or text
        except AssertionError as e:
            wrong += 1
            print(f"{way}: rank {(i + 1) % RANKS}: {str(e)[:1500]}", flush=True)
print(f"{way}: {named} of {named + silent + wrong} named, {silent} not, {wrong} wrong: {text}")
with open("/proc/self/status", encoding="ascii") as f:
    is_filtered = re.search(r"^Seccomp:\s*0$", f.read(), re.M) is None  # then a guest does not knock
may_be_nobody = is_filtered or named > 0 and way == "ddp" or (
    way in ("mpich", "gloo") and os.cpu_count() < RANKS)  # the others end before it was looked
sys.exit(0 if wrong == 0 and (may_be_nobody or 4 * silent <= times) else 1)
