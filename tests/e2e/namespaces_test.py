#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs in PID and time namespaces of their own: their processes' numbers are not taken for ours, and clocks that are a day
apart are two clocks. usage: namespaces_test.py BUILD SOURCE [CASE...]
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))
from cases import Skip, cases_of, run_cases  # noqa: E402
from processes import signal_process  # noqa: E402

build = os.path.realpath(sys.argv[1])
cox, program = os.path.join(build, "cox"), os.path.join(build, "many_marks")
RANKS, MARKS = 2, 200_000_000
CONTAINER = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD" and not k.startswith("COX_")}
environment["COX_MAX_OVERHEAD"] = "10000"


def works(command):
    return subprocess.run(command + ["true"], capture_output=True).returncode == 0


def asked(*command, inside=(), status=(0,)):
    told = subprocess.run([*inside, cox, *command], capture_output=True, text=True, env=environment, timeout=120)
    assert told.returncode in status, (command, told.returncode, told.stderr)
    return told.stdout


def raw_files(folder):
    return [name for name in os.listdir(folder) if name.endswith(".coxraw")] if os.path.isdir(folder) else []


def started_in_a_container(work):
    run = os.path.join(work, "run")
    job = subprocess.Popen([*CONTAINER, cox, "observe", "-o", run, "--max-size", "8MB", "--", program, str(RANKS), str(MARKS)],
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
    end = time.monotonic() + 60
    while len(raw_files(run)) < RANKS:
        assert job.poll() is None and time.monotonic() < end, (job.poll(), "no files")
        time.sleep(0.05)
    return job, run


def case_seen_from_outside(work):
    job, run = started_in_a_container(work)
    asked("compact", run)
    assert len(raw_files(run)) == RANKS and job.poll() is None, "files of a running job were taken for a dead one's"
    told = json.loads(asked("detach", run, "--json"))["result"]
    assert told["stopped"] == RANKS and told["elsewhere"] == 0, told
    signal_process(job.pid, signal.SIGKILL)
    job.communicate(timeout=60)


def case_seen_from_beside(work):
    job, run = started_in_a_container(work)
    asked("compact", run, inside=CONTAINER)
    assert len(raw_files(run)) == RANKS and job.poll() is None, "files of a running job were taken for a dead one's"
    signal_process(job.pid, signal.SIGKILL)
    job.communicate(timeout=60)
    end = time.monotonic() + 30
    while raw_files(run) and time.monotonic() < end:
        asked("compact", run, inside=CONTAINER)
    assert not raw_files(run), "nobody writes them any more"
    said = asked("diagnose", run, inside=CONTAINER, status=(0, 3))
    assert "damaged" not in said, said


def case_time_namespace(work):
    mpi_train = os.path.join(build, "examples", "mpi_train.openmpi")
    mpirun = shutil.which("mpirun.openmpi") or shutil.which("mpirun")
    later = ["unshare", "--time", "--monotonic", "86400", "--fork", "--kill-child"]
    if not (os.access(mpi_train, os.X_OK) and mpirun and works(later)):
        raise Skip("needs mpi_train.openmpi, mpirun and time namespaces")
    run = os.path.join(work, "run")
    job = [mpirun, "--allow-run-as-root", "--oversubscribe"]
    part = [mpi_train, "--steps", "100"]
    command = [*job, "-n", "1", *part, ":", "-n", "1", *later, *part]
    plain = subprocess.run(command, capture_output=True, env=environment, timeout=120)
    if plain.returncode != 0:  # the launcher of Open MPI 5.0.7 ends by SIGSEGV
        raise Skip(f"without us the launcher ends with {plain.returncode}")
    subprocess.run([cox, "observe", "-o", run, "--", *command], check=True, capture_output=True, env=environment, timeout=120)
    told = json.loads(asked("diagnose", run, "--json"))["result"]
    sources = sorted(host["source"] for host in told["clock"]["hosts"])
    assert len(sources) == 2 and "shared" in sources, told["clock"]
    assert told["coverage"] == 1.0, told["coverage"]
    assert float(told["run_time_s"]) < 600, "a day between two namespaces was taken for time"


if not works(CONTAINER):
    print("SKIP: no PID namespace of its own may be made here")
    sys.exit(77)
run_cases(cases_of(globals(), "case_"), sys.argv[3:])
