#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A halo exchange that is synchronised by messages: run time adds up, the rank with more work is named with a gain that is
near what is gained without that work, and a rank that does not come is named, not those who wait for it.

usage: messages_test.py BUILD SOURCE LIBRARY hang MODE [ROUNDS]     MODE: waitall, wait, sendrecv, recv, grid, gridsend, any, anyrecv
       messages_test.py BUILD SOURCE LIBRARY uneven PROGRAM MODE    PROGRAM: stencil, stencil_fortran
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))
from processes import signal_group, signal_process  # noqa: E402

build, library, what = os.path.realpath(sys.argv[1]), sys.argv[3], sys.argv[4]
arguments = sys.argv[5:]
cox = os.path.join(build, "cox")
environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD" and not k.startswith("COX_")}
environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def job_of(program, ranks, *given):
    path = os.path.join(build, "tests", "e2e", f"{program}.{library}")
    launcher = shutil.which(f"mpirun.{library}")
    if launcher is None or not os.access(path, os.X_OK):
        print(f"SKIP: {program}.{library} or its launcher is not here")
        sys.exit(77)
    more = ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"] if library == "openmpi" else []
    return [launcher, "-n", str(ranks)] + more + [path] + [str(x) for x in given]


def diagnose(folder, *more):
    told = subprocess.run([cox, "diagnose", folder, "--json", *more], capture_output=True, text=True, env=environment, timeout=60)
    return json.loads(told.stdout)["result"] if told.returncode in (0, 1) else None


def end_all(job, pids):
    for pid in pids:
        try:
            signal_process(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    try:
        job.wait(timeout=20)
    except subprocess.TimeoutExpired:
        signal_group(job.pid, signal.SIGKILL)
        job.wait(timeout=20)


def check_hang(result, victim, live):
    # Afterwards the job counts up to its last record, which may be less than a second after it came to its halt.
    assert result is not None
    hung = [s for s in result["hang"]["stalls"] if s["hung"] or not live]
    assert hung, result["hang"]
    for stall in hung:
        assert stall["kind"] in ("peer_wait", "missing_rank"), stall["text"]
        if not stall["consequence"]:
            assert stall["ranks"] == [victim], stall["text"]
    assert not hung[0]["consequence"], hung[0]["text"]


def hang(mode, victim, folder):
    out = os.path.join(folder, "run")
    with open(os.path.join(folder, "out"), "w+") as printed:
        command = job_of("stencil", 4, mode, 400, 1000, victim, 0, 10, 60 + victim)
        job = subprocess.Popen(["timeout", "-s", "KILL", "100", cox, "observe", "-o", out, "--"] + command, stdout=printed,
                               stderr=subprocess.STDOUT, env=environment, start_new_session=True)
        pids = []
        try:
            end = time.monotonic() + 60
            while time.monotonic() < end:
                with open(printed.name) as f:
                    text = f.read()
                pids = [int(p) for p in re.findall(r"rank \d+ pid (\d+)", text)]
                if "halt" in text:
                    break
                time.sleep(0.1)
            assert "halt" in text, "the job did not come to its halt"
            end = time.monotonic() + 15
            while True:
                try:
                    check_hang(diagnose(out), victim, True)
                    break
                except AssertionError:
                    if time.monotonic() > end:
                        raise
                time.sleep(0.3)
        finally:
            end_all(job, pids)
        check_hang(diagnose(out), victim, False)


def hangs(mode, rounds):
    told = 0
    for i in range(rounds):
        with tempfile.TemporaryDirectory(prefix="cox-e2e.") as folder:
            try:
                hang(mode, i % 4, folder)
                told += 1
            except AssertionError as e:
                print(f"{library} {mode}: rank {i % 4}: NOT told: {str(e)[:1500]}", flush=True)
    print(f"{library} {mode}: {told} of {rounds}", flush=True)
    return told == rounds


def run(program, ranks, folder, *given):
    out = os.path.join(folder, "run")
    shutil.rmtree(out, ignore_errors=True)
    done = subprocess.run([cox, "observe", "-o", out, "--"] + job_of(program, ranks, *given), capture_output=True, text=True,
                          env=environment, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    return float(re.search(r"([0-9.]*) s$", done.stdout, re.M).group(1)), diagnose(out)


def check_uneven(program, mode, every, folder):
    """Returns what is wrong, or nothing."""
    work, extra, steps, late = 10000, 10000, 100, 2
    ranks = 6 if mode.startswith("grid") else 4  # a grid of two by three: inner and outer neighbours
    long, result = run(program, ranks, folder, mode, steps, work, late, extra, every)
    short, _ = run(program, ranks, folder, mode, steps, work, -1, 0, every)
    gained = 1 - short / long
    whole = result["account"]["run_time_s"] if "account" in result else result["run_time_s"]
    for a in result["ranks"]:
        parts = a["work_s"] + a["wait_s"] + a["message_wait_s"] + a["transfer_s"] + a["outside_s"]
        assert abs(parts - whole) <= 0.01 * whole, f"rank {a['rank']}: {parts} s of {whole} s"
    named = [f.get("ranks") or [f.get("rank")] for f in result["findings"]]
    assert named and named[0] == [late], (result["verdict"], named)
    gain = result["findings"][0]["gain_ratio"]
    doubt = result["findings"][0]["gain_doubt"]
    charged = max(result["attribution"]["ranks"], key=lambda r: r["short_term_s"] + r["long_term_s"])
    assert charged["rank"] == late, result["attribution"]
    print(f"{program}.{library} {mode}, a sum every {every}: gain {gain:.2f}, measured {gained:.2f}"
          f"{', doubtful: ' + doubt if doubt else ''}", flush=True)
    # MPICH polls: on fewer cores ranks that wait take them from those that work, and what is gained is another thing.
    if doubt:
        assert os.cpu_count() < ranks, doubt
        return
    assert abs(gain - gained) <= gained / 3, "the gain is not what was measured"


def uneven(program, mode):
    if library == "mpich" and mode.startswith("grid") and os.cpu_count() < 6:
        print("SKIP: six ranks that poll on fewer cores: what they gain is the scheduler's")
        sys.exit(77)
    for every in (10, 0):
        wrong = None
        for _ in range(3):  # a busy machine may slow one of the two runs
            with tempfile.TemporaryDirectory(prefix="cox-e2e.") as folder:
                try:
                    check_uneven(program, mode, every, folder)
                    wrong = None
                    break
                except AssertionError as e:
                    wrong = str(e)[:1500]
                    print(f"{program}.{library} {mode}, a sum every {every}: {wrong}", flush=True)
        if wrong:
            return False
    return True


if what == "hang":
    sys.exit(0 if hangs(arguments[0], int(arguments[1]) if len(arguments) > 1 else 2) else 1)
sys.exit(0 if uneven(*arguments) else 1)
