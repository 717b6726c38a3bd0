#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The rules of a guest, one by one: whatever happens to its file, its process or its threads, the job prints what it
prints without us and ends as it ends without us.

usage: harmless_test.py BUILD SOURCE LIBRARY [CASE...]
"""
import functools
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))
from cases import Skip, cases_of, run_cases  # noqa: E402
from processes import signal_process  # noqa: E402

build, library = os.path.realpath(sys.argv[1]), sys.argv[3]
cox = os.path.join(build, "cox")
preload = os.path.join(build, "libcox-preload.so")
trials = os.path.join(build, "tests", "e2e", f"guest_trials.{library}")
launcher = shutil.which(f"mpirun.{library}")
if not launcher or not os.access(trials, os.X_OK):
    print(f"SKIP: no mpirun.{library}, or guest_trials.{library} was not built")
    sys.exit(77)
clean = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD" and not k.startswith("COX_")}
clean |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
yielding = ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"] if library == "openmpi" else []
RANKS = 2


def job(*arguments):
    return ["timeout", "90", launcher, *yielding, "-n", str(RANKS), trials, *map(str, arguments)]


def run(command, environment=None, **more):
    return subprocess.run(command, env=clean | (environment or {}), capture_output=True, text=True, timeout=120, **more)


@functools.cache
def plain(*arguments):
    done = run(job(*arguments))
    assert done.returncode == 0, (done.returncode, done.stderr)
    return done.stdout


def beside(folder, *arguments, environment=None, **more):
    """The job with our object in every rank and its files in `folder`, started without the tool."""
    done = run(job(*arguments), {"LD_PRELOAD": preload, "COX_DIR": folder} | (environment or {}), **more)
    assert done.returncode == 0, (done.returncode, done.stderr)
    return done.stdout


def observed(folder, *arguments, options=(), environment=None, **more):
    done = run([cox, "observe", "-o", folder, *options, "--", *job(*arguments)], environment, **more)
    assert done.returncode == 0, (done.returncode, done.stderr)
    return done


def diagnosis(folder):
    done = run([cox, "diagnose", folder, "--json"])
    assert done.returncode == 0, (done.returncode, done.stderr)
    return json.loads(done.stdout)


def collectives(folder):
    """How many of each rank; nothing while the files begin."""
    done = run([cox, "diagnose", folder, "--json"])
    return [r["collectives"] for r in json.loads(done.stdout)["result"]["ranks"]] if done.returncode == 0 else []


def raw_files(folder):
    return sorted(f for f in os.listdir(folder) if f.endswith((".coxraw", ".cox")))


def case_disabled(work):
    assert beside(work, "steps", 50, environment={"COX_DISABLE": "1"}) == plain("steps", 50)
    assert raw_files(work) == [], os.listdir(work)


def case_unwritable_folder(work):
    for folder in ("/proc/self/nothing", os.path.join(work, "not", "made"), "relative"):
        assert beside(folder, "steps", 50) == plain("steps", 50), folder


def case_full_disk(work):
    disk = os.path.join(work, "disk")
    os.mkdir(disk)
    if run(["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", disk]).returncode != 0:
        raise Skip("no right to mount")
    try:
        # Room for the start of a file only: what is in it is readable, and the job is as without us.
        assert beside(disk, "hammer", 1, environment={"COX_MAX_OVERHEAD": "1000"}) == "hammered\n"
        for f in os.listdir(disk):
            os.unlink(os.path.join(disk, f))
        run(["mount", "-o", "remount,size=5m", disk])
        # Room to begin with, none to go on: recording ends, says so, and what it could not write is counted.
        assert beside(disk, "hammer", 1, environment={"COX_MAX_OVERHEAD": "1000"}) == "hammered\n"
        lost = diagnosis(disk)["result"]["coverage_detail"]["dropped_records"]
        assert lost > 0, "nothing was dropped: the disk was not full"
        words = re.sub(r"\s+", " ", run([cox, "diagnose", "--all", disk]).stdout)
        assert "could not be written (no space left on the disk" in words, words
    finally:
        run(["umount", disk])
    return f"{lost} events dropped and counted"


def case_file_size_limit(work):
    # Growing a file past this limit is a signal that ends the process. (Not an MPI job: its launcher makes files, too.)
    program = os.path.join(build, "many_marks")
    for kib in (100, 3000):
        folder = os.path.join(work, str(kib))
        os.mkdir(folder)
        limit = kib * 1024
        done = run([program, "2", "200000"],
                   {"LD_PRELOAD": preload, "COX_DIR": folder, "COX_MAX_OVERHEAD": "1000"},
                   preexec_fn=lambda most=limit: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))
        assert done.returncode == 0, (kib, done.returncode, done.stderr)
        assert all(os.path.getsize(os.path.join(folder, f)) <= limit for f in os.listdir(folder))
        assert bool(raw_files(folder)) == (kib > 2100), os.listdir(folder)


def case_forks(work):
    folder = os.path.join(work, "run")
    assert observed(folder, "forks").stdout == plain("forks")
    result = diagnosis(folder)["result"]
    assert result["coverage"] == 1.0 and len(result["ranks"]) == RANKS, result["coverage_detail"]
    assert len(raw_files(folder)) == RANKS, "a child made a file of its own"


def case_threads(work):
    folder = os.path.join(work, "run")
    done = run([cox, "observe", "-o", folder, "--", *job("threads")])
    if done.returncode == 77:
        raise Skip("the library has no MPI_THREAD_MULTIPLE")
    assert done.returncode == 0 and done.stdout == plain("threads"), (done.returncode, done.stderr)
    result = diagnosis(folder)["result"]
    assert result["coverage"] == 1.0, result["coverage_detail"]
    counts = sorted((c["collectives"], c["bytes"]) for c in result["communicators"] if c["collectives"])
    assert counts == [(200, 800)] * 4, counts
    return None


def case_freed(work):
    ours, without = observed(os.path.join(work, "run"), "freed").stdout, plain("freed")
    assert ours == without, (ours, without)


def case_traps(work):
    """A program that traps every exception of floating point is not ended by ours, and sees no flag of ours."""
    for pace in ("", "observe", "always"):
        folder = os.path.join(work, "run" + pace)
        ours = observed(folder, "traps", options=["--pace", pace] if pace else [],
                        environment={"COX_MAX_OVERHEAD": "1000"}).stdout  # it polls, and more so on a busy machine
        assert ours == plain("traps"), (pace, ours, plain("traps"))
    assert diagnosis(folder)["result"]["coverage"] == 1.0


def case_errno(work):
    """Our part of a call leaves errno as it was, whatever it does beside."""
    for pace in ("", "always"):
        folder = os.path.join(work, "run" + pace)
        ours = observed(folder, "errno", options=["--pace", pace] if pace else [], environment={"COX_MAX_OVERHEAD": "1000"}).stdout
        assert ours == plain("errno") == "errno changed 0 times\n", (ours, plain("errno"))


def case_many_communicators(work):
    """So many that one of our tables was full long before; beyond it that is said."""
    folder = os.path.join(work, "run")
    assert observed(folder, "many", 1500).stdout == plain("many", 1500)
    result = diagnosis(folder)["result"]
    assert result["coverage"] == 1.0 and len(result["communicators"]) >= 1501, result["coverage_detail"]
    if library != "openmpi":  # MPICH has no more than 2,048
        return
    beyond = os.path.join(work, "beyond")
    assert observed(beyond, "many", 6000).stdout == plain("many", 6000)
    said = run([cox, "diagnose", "--all", beyond])
    assert "more communicators at once than there is room for" in re.sub(r"\s+", " ", said.stdout + said.stderr), said


def case_reload(work):
    ours, without = observed(os.path.join(work, "run"), "reload").stdout, plain("reload")
    assert ours == without, (ours, without)


def case_closed_descriptors(work):
    out = beside(work, "closes", environment={"COX_MAX_OVERHEAD": "1000"}, cwd=work)
    assert out == "300 files, untouched\n", out


def case_ring_overflow(work):
    folder = os.path.join(work, "run")
    done = observed(folder, "hammer", 1, options=["--max-size", "3MB"], environment={"COX_MAX_OVERHEAD": "1000"})
    assert done.stdout == "hammered\n"
    detail = diagnosis(folder)["result"]["coverage_detail"]
    assert detail["recycled_records"] > 100000, detail
    return f"{detail['recycled_records']} old events made room"


def case_job_cap(work):
    """All processes together stay below what the job may write; where that is too little for a file each, it is said."""
    folder, summary = os.path.join(work, "run"), os.path.join(work, "summary")
    cap = RANKS * 3_000_000
    done = observed(folder, "hammer", 1, options=["--max-job-size", f"{cap}B", "--json", summary],
                    environment={"COX_MAX_OVERHEAD": "1000"})
    assert done.stdout == "hammered\n"
    with open(summary) as f:
        told = json.load(f)["result"]
    assert RANKS * 2_000_000 < told["raw_bytes"] <= cap and told["recycled_records"] > 100000, told
    little = os.path.join(work, "little")
    observed(little, "steps", 10, options=["--max-job-size", "1MB"])
    said = run([cox, "diagnose", little])
    assert "is too little for so many processes" in re.sub(r"\s+", " ", said.stdout + said.stderr), said
    return f"{told['raw_bytes']} of {cap} bytes"


def case_too_slow(work):
    folder = os.path.join(work, "run")
    done = observed(folder, "hammer", 4, options=["--max-size", "3MB"], environment={"COX_MAX_OVERHEAD": "0.01"})
    assert done.stdout == "hammered\n"
    assert f"{RANKS} processes switched recording off" in done.stderr, done.stderr
    told = run([cox, "diagnose", "--all", folder])
    words = re.sub(r"\s+", " ", told.stdout)
    assert "recording switched itself off" in words and "COX_MAX_OVERHEAD" in words, told.stdout


def case_stopped_and_continued(work):
    folder = os.path.join(work, "run")
    steps = 2000  # the stop falls into them on any machine
    process = subprocess.Popen([cox, "observe", "-o", folder, "--", *job("steps", steps)], env=clean,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    victim = None
    for _ in range(500):
        files = raw_files(folder) if os.path.isdir(folder) else []
        if len(files) == RANKS:
            victim = int(re.search(r"-(\d+)-[0-9a-f]+\.coxraw$", files[0])[1])
            break
        time.sleep(0.02)
    assert victim, "no file of a rank came up"
    signal_process(victim, signal.SIGSTOP)
    time.sleep(0.3)
    signal_process(victim, signal.SIGCONT)
    out, err = process.communicate(timeout=100)
    assert process.returncode == 0 and out == f"total {sum(RANKS * i for i in range(steps)) % 1000003}\n", (out, err)
    assert diagnosis(folder)["result"]["coverage"] == 1.0


def case_cancelled_threads(work):
    folder = os.path.join(work, "run")
    program = os.path.join(build, "cancelled")
    done = run([cox, "observe", "-o", folder, "--max-size", "10MB", "--", "timeout", "60", program],
               {"COX_MAX_OVERHEAD": "1000"})
    assert done.returncode == 0 and done.stdout == "200 lives\n", (done.returncode, done.stdout, done.stderr)
    assert diagnosis(folder)["result"]["ranks"][0]["rank"] == 0


def code_of_killed_job(folder):
    """How a job ends of which a rank was killed while it worked; `folder`: of its Run, or None for without us."""
    endless = job("steps", 1000000000)  # it ends by the kill alone
    command = endless if folder is None else [cox, "observe", "-o", folder, "--", *endless]
    process = subprocess.Popen(command, env=clean, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    victim = None
    for _ in range(300):
        time.sleep(0.02)
        listed = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True).stdout
        table = {int(a): (int(b), c) for a, b, c in (line.split(None, 2) for line in listed.splitlines())}

        def ours(pid):
            while pid in table and pid != process.pid:
                pid = table[pid][0]
            return pid == process.pid
        ranks = [p for p, (_, args) in table.items() if args.startswith(trials) and ours(p)]
        if len(ranks) == RANKS:
            victim = max(ranks)
            break
    assert victim, "no rank came up"
    if folder is None:
        time.sleep(0.3)
    else:  # until something is recorded of each
        while min(collectives(folder), default=0) <= 100:
            assert process.poll() is None, "the job ended early"
            time.sleep(0.02)
    signal_process(victim, signal.SIGKILL)
    return process.wait(timeout=60)


def case_rank_killed(work):
    """The launcher says what it says without us, and what was recorded is there."""
    # MPICH 4.2's launcher alone says 9, 0 or 255, as it happens to hear of it, some of these rarely.
    without, codes = [], []
    for attempt in range(4):
        folder = os.path.join(work, f"run{attempt}")
        codes.append(code_of_killed_job(folder))
        while codes[-1] not in without and len(without) < 20 * (attempt + 1):
            without.append(code_of_killed_job(None))
        if codes[-1] in without:
            break
    code = codes[-1]
    assert code in without, (codes, without)
    seen = collectives(folder)
    assert len(seen) == RANKS and min(seen) > 100, seen
    return f"{code}; without us {without}"


run_cases(cases_of(globals(), "case_"), sys.argv[4:])
