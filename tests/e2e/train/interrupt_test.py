#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A job that is interrupted says which checkpoint there is and how to go on from it, leaves no process, and has the bits of one
that was not interrupted when it goes on; on a terminal it says how far it is. usage: interrupt_test.py BUILD SOURCE TRANSPORT
"""
import json
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time

build, source, transport = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2]), sys.argv[3]
cox = os.path.join(build, "cox")
if transport != "threads" and not os.access(os.path.join(build, "cox-train-" + transport), os.X_OK):
    print(f"SKIP: cox-train-{transport} was not built")
    sys.exit(77)
environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
scenario = os.path.join(source, "examples/scenarios/learn-uneven.toml")
STEPS = 4000


def command(steps, *more):
    made = [cox, "train", scenario, "--procs", "2", "--transport", transport, "--steps", str(steps), "--problem",
            "mlp,dimension=16,hidden=32", "--optimizer", "adam,rate=0.001", "--patience", "20", *more]
    if transport in ("openmpi", "mpich"):
        launch = "mpirun." + transport + (" --oversubscribe --mca mpi_yield_when_idle 1" if transport == "openmpi" else "")
        made += ["--launch", launch + " -n 2"]
    return made


def newest(folder):
    return max([int(n) for n in os.listdir(folder) if n.isdigit()] if os.path.isdir(folder) else [], default=0)


def left_of(work):
    """Processes that have the folder on their command lines."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if work.encode() in f.read() and int(pid) != os.getpid():
                    found.append(pid)
        except OSError:
            pass
    return found


with tempfile.TemporaryDirectory(prefix="cox-e2e.") as work:
    saved = os.path.join(work, "saved")
    environment["TMPDIR"] = work
    saving = ["--checkpoint", saved, "--checkpoint-every", "50"]
    job = subprocess.Popen(command(1000000, *saving), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           env=environment)
    end = time.monotonic() + 60
    while newest(saved) == 0 and time.monotonic() < end and job.poll() is None:
        time.sleep(0.02)
    job.send_signal(signal.SIGINT)
    asked = time.monotonic()
    out, err = job.communicate(timeout=60)
    assert time.monotonic() - asked < 20, "seconds until it ended"
    assert job.returncode == 130, (job.returncode, out, err)
    there = newest(saved)
    assert there > 0
    said = f"checkpoint {there} is in {saved}"
    told = " ".join((out + err).split())
    assert said in told and "--resume goes on from it" in told, (said, told)
    end = time.monotonic() + 10
    while left_of(work) and time.monotonic() < end:
        time.sleep(0.1)
    assert not left_of(work), left_of(work)

    # Goes on, as said, to the bits of a job that nobody interrupted.
    steps = there + 200
    on = subprocess.run(command(steps, *saving, "--resume", "--json"), capture_output=True, text=True, env=environment)
    whole = subprocess.run([cox, "train", scenario, "--procs", "1", "--steps", str(steps), "--problem",
                            "mlp,dimension=16,hidden=32", "--optimizer", "adam,rate=0.001", "--json"],
                           capture_output=True, text=True)
    assert on.returncode == 0 and whole.returncode == 0, (on.stderr, whole.stderr)
    one, other = json.loads(on.stdout)["result"], json.loads(whole.stdout)["result"]
    assert one["resumed_version"] == there and one["parameters_hash"] == other["parameters_hash"], (one, other)

    # On a terminal: steps, loss, and an estimate.
    shown = bytearray()

    def read(fd):
        data = os.read(fd, 4096)
        shown.extend(data)
        return data if b"left; loss" not in shown else b""

    os.environ.update(environment)
    sys.stdout.flush()
    with open(os.devnull, "w") as nowhere:
        keep = os.dup(1)
        os.dup2(nowhere.fileno(), 1)
        pty.spawn(["timeout", "-s", "KILL", "8"] + command(1000000), read)
        os.dup2(keep, 1)
    assert re.search(rb"\d+ of 1000000 steps, [0-9.e+]+ steps/s, about .* left; loss [0-9.]+", shown), bytes(shown)
