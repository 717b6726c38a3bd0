#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A job that comes to a halt is told as what it is, while it stands and after it was killed.

Faults over Open MPI: a rank that never enters (sleeps, spins), one stopped in its own work, one stopped inside the
call, one gone; collectives called differently. Over Gloo: a rank stopped in its own work or in a call.
usage: hang_test.py BUILD SOURCE [ROUNDS [FAULT...]]
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

build, rounds = os.path.realpath(sys.argv[1]), int(sys.argv[3]) if len(sys.argv) > 3 else 3
chosen = sys.argv[4:]
ranks = 4
cox = os.path.join(build, "cox")
environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD" and not k.startswith("COX_")}
environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def skip(why):
    print("SKIP:", why)
    sys.exit(77)


def diagnose(folder):
    told = subprocess.run([cox, "diagnose", folder, "--json", "--check"], capture_output=True, text=True, env=environment, timeout=60)
    if told.returncode not in (0, 1):
        return None, told.returncode
    return json.loads(told.stdout)["result"], told.returncode


def wait_until(condition, what, limit_s=60):
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.1)
    raise AssertionError(f"not within {limit_s} s: {what}")


def told_within(limit_s, folder, expect):
    """What `expect` makes of the first diagnosis that finds a hang and passes it; what the last one lacked, if none does."""
    end = time.monotonic() + limit_s
    while True:
        result, status = diagnose(folder)
        try:
            assert result is not None and status == 1 and result["hang"]["live"], (status, result and result["hang"])
            return expect(result)
        except AssertionError:
            if time.monotonic() > end:
                raise
        time.sleep(0.2)


def end_all(job, pids):
    """The ranks by their own numbers, then whatever started them; each process is in a session of ours."""
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


def hung(result):
    return [s for s in result["hang"]["stalls"] if s["hung"]]


def check_last_seen(stall, victim, states):
    seen = stall["last_seen"][0]
    assert seen["rank"] == victim, seen
    assert seen["process"] in states, (seen, states)
    assert seen["last_call"] is not None and seen["idle_s"] >= 0, seen


def expect_missing(states):
    def check(result, victim, live):
        stalls = hung(result) if live else result["hang"]["stalls"]
        assert len(stalls) == 1, result["hang"]
        s = stalls[0]
        assert (s["kind"], s["ranks"]) == ("missing_rank", [victim]), s["text"]
        call = s["calls"][0]
        assert call["waiting"] == [r for r in range(ranks) if r != victim] and call["missing"] == [victim], call
        assert call["operation"] == "AllReduce" and call["bytes"] > 0, call
        if live:
            check_last_seen(s, victim, states)
            assert s["waited_s"] >= 1 or states & {"stopped", "gone"}, s
    return check


def expect_stuck(result, victim, live):
    stalls = hung(result) if live else result["hang"]["stalls"]
    assert len(stalls) == 1, result["hang"]
    s = stalls[0]
    if live:
        assert (s["kind"], s["ranks"]) == ("stuck_inside", [victim]), s["text"]
        check_last_seen(s, victim, {"stopped"})
    else:  # who was stopped is known where the files hold samples
        assert s["kind"] == "all_entered" or (s["kind"], s["ranks"]) == ("stuck_inside", [victim]), s["text"]
    assert s["calls"][0]["waiting"] == list(range(ranks)) and not s["calls"][0]["missing"], s


def expect_order(result, victim, live):
    stalls = hung(result)
    assert len(stalls) == 1 and stalls[0]["kind"] == "order_mismatch", result["hang"]
    assert stalls[0]["ranks"] == [victim] and len(stalls[0]["calls"]) == 2, stalls[0]["text"]


def expect_mismatch(kind):
    def check(result, victim, live):
        found = result["mismatches"]
        assert found and (found[0]["kind"], found[0]["ranks"]) == (kind, [victim]), (found, result["hang"])
    return check


def expect_nothing(result, victim, live):
    assert not hung(result) and not result["mismatches"], (result["hang"], result["mismatches"])


def expect_stopped(result, victim):
    stalls = [s for s in hung(result) if not s["consequence"]]
    assert len(stalls) == 1, result["hang"]
    s = stalls[0]
    assert s["kind"] in ("missing_rank", "stuck_inside") and s["ranks"] == [victim], s["text"]
    check_last_seen(s, victim, {"stopped"})
    return s["kind"]


# fault: (what must be told, whether the job comes to a halt)
mpi_faults = {
    "sleep": (expect_missing({"sleeping"}), True),
    "spin": (expect_missing({"running"}), True),
    "stop": (expect_missing({"stopped"}), True),
    "stop_inside": (expect_stuck, True),
    "gone": (expect_missing({"gone"}), True),
    "swapped_groups": (expect_order, True),
    "swapped": (expect_mismatch("operation"), True),
    "wrong_root": (expect_mismatch("root"), None),  # the library may get away with it
    "wrong_count": (expect_mismatch("count"), None),
    "none": (expect_nothing, False),
}


def run_mpi(fault, victim, folder):
    expect, halts = mpi_faults[fault]
    # A rank that dies must not take the others with it: a launcher that has not noticed yet.
    command = ["mpirun.openmpi", "-n", str(ranks), "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "--mca",
               "orte_abort_on_non_zero_status", "0", "--enable-recovery", os.path.join(build, "hang_mpi"),
               fault, str(victim)]
    out = os.path.join(folder, "run")
    with open(os.path.join(folder, "out"), "w+") as printed:
        job = subprocess.Popen(["timeout", "-s", "KILL", "60", cox, "observe", "-o", out, "--"] + command, stdout=printed,
                               stderr=subprocess.STDOUT, env=environment, start_new_session=True)
        pids = []
        try:
            def begun():
                with open(printed.name) as f:
                    text = f.read()
                pids[:] = [int(p) for p in re.findall(r"rank \d+ pid (\d+)", text)]
                return len(pids) == ranks and (fault == "none" or "halt" in text) or job.poll() is not None
            wait_until(begun, "the job's start")
            if halts:
                told_within(10, out, lambda result: expect(result, victim, True))
            elif halts is None:
                def told():  # ranks that have not come yet are no side of it
                    result, status = diagnose(out)
                    if result is None:
                        return False
                    try:
                        expect(result, victim, job.poll() is None)
                    except AssertionError:
                        return False
                    return status == 1
                wait_until(told, "the mismatch", 10)
            else:
                job.wait(timeout=60)
        finally:
            end_all(job, pids)
        result, status = diagnose(out)
        assert result is not None and not result["hang"]["live"], (status, result and result["hang"])
        expect(result, victim, False)
        if fault == "none":
            assert job.returncode == 0, job.returncode


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return [int(p) for p in f.read().split()]


def state_of(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "-"


def run_gloo(victim, folder):
    """A rank of gloo_train is stopped wherever it is: what is told must fit what the records say."""
    out = os.path.join(folder, "run")
    program = os.path.join(build, "examples", "gloo_train")
    own = "import os, sys; print('group', os.getpid(), flush=True); os.execv(sys.argv[1], sys.argv[1:])"
    job = subprocess.Popen(["timeout", "-s", "KILL", "60", cox, "observe", "-o", out, "--", sys.executable, "-c", own, program,
                            "--ranks", str(ranks), "--steps", "100000", "--batch", "64"], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True, env=environment, start_new_session=True)
    pids = []
    try:
        parent = int(job.stdout.readline().split()[1])
        wait_until(lambda: len(children_of(parent)) == ranks, "the ranks")
        pids[:] = children_of(parent)  # in the order of their ranks
        wait_until(lambda: (diagnose(out)[0] or {}).get("steps", {}).get("count", 0) > 20, "twenty steps")
        result, _ = diagnose(out)
        assert result["hang"]["live"] and not hung(result), result["hang"]
        signal_process(pids[victim], signal.SIGSTOP)
        wait_until(lambda: state_of(pids[victim]) == "T", "the stop")
        return told_within(10, out, lambda result: expect_stopped(result, victim))
    finally:
        end_all(job, pids)


def rounds_of(name, run):
    told = 0
    for i in range(rounds):
        victim = (i * 2 + 1) % ranks
        with tempfile.TemporaryDirectory(prefix="cox-e2e.") as folder:
            try:
                detail = run(victim, folder)
                told += 1
                print(f"{name}: rank {victim}: told{f' ({detail})' if detail else ''}", flush=True)
            except AssertionError as e:
                print(f"{name}: rank {victim}: NOT told: {str(e)[:2000]}", flush=True)
    print(f"{name}: {told} of {rounds}", flush=True)
    return told == rounds


have_mpi = shutil.which("mpirun.openmpi") and os.access(os.path.join(build, "hang_mpi"), os.X_OK)
have_gloo = os.access(os.path.join(build, "examples", "gloo_train"), os.X_OK)
wanted = chosen or list(mpi_faults) + ["gloo"]
good, ran = True, 0
for fault in wanted:
    if fault == "gloo" and have_gloo:
        good, ran = rounds_of("gloo", run_gloo) and good, ran + 1
    elif fault != "gloo" and have_mpi:
        good, ran = rounds_of(fault, lambda victim, folder: run_mpi(fault, victim, folder)) and good, ran + 1
if ran == 0:
    skip("neither Open MPI (hang_mpi) nor gloo_train is here")
sys.exit(0 if good else 1)
