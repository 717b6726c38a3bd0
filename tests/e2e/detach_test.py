#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`cox detach` ends recording of a job that runs, within a second, while more ranks than cores record as fast as they can;
the job goes on and ends as it would. What starts later in that job does not record. usage: detach_test.py BUILD SOURCE
"""
import json
import os
import subprocess
import sys
import tempfile
import time

build = os.path.realpath(sys.argv[1])
cox, program = os.path.join(build, "cox"), os.path.join(build, "many_marks")
ranks = 2 * len(os.sched_getaffinity(0))
environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD" and not k.startswith("COX_")}
environment["COX_MAX_OVERHEAD"] = "10000"  # else so many marks switch recording off by themselves
DISABLED, REASON_AT, DETACHED = 3, 76, 0x10001  # docs/reference/run-format.md


def heads(folder):
    """(state, reason) of each raw file."""
    found = []
    for name in os.listdir(folder):
        if name.endswith(".coxraw"):
            with open(os.path.join(folder, name), "rb") as f:
                head = f.read(REASON_AT + 4)
            if len(head) == REASON_AT + 4 and head[:6] == b"COXRAW":
                found.append(tuple(int.from_bytes(head[at:at + 4], "little") for at in (REASON_AT - 4, REASON_AT)))
    return found


with tempfile.TemporaryDirectory(prefix="cox-e2e.") as work:
    run = os.path.join(work, "run")
    refused = subprocess.run([cox, "detach", work], capture_output=True, text=True, env=environment)
    assert refused.returncode == 3 and "[observe-011]" in refused.stderr, refused
    assert not os.listdir(work), "somebody's folder"

    script = f"{program} {ranks} 60000000 && touch {work}/first && {program} 1 10 && touch {work}/second"
    job = subprocess.Popen([cox, "observe", "-o", run, "--max-size", "8MB", "--", "sh", "-c", script],
                           stderr=subprocess.PIPE, text=True, env=environment)
    end = time.monotonic() + 30
    while not os.path.isdir(run) or len(heads(run)) < ranks:
        assert job.poll() is None and time.monotonic() < end, "the job has ended or never began"
        time.sleep(0.05)
    time.sleep(0.5)
    begun = time.monotonic()
    telling = subprocess.Popen([cox, "detach", run, "--json"], stdout=subprocess.PIPE, text=True, env=environment)
    while any(state != DISABLED for state, _ in heads(run)):
        assert time.monotonic() < begun + 10, heads(run)
        time.sleep(0.01)
    took = time.monotonic() - begun
    told = json.loads(telling.communicate(timeout=30)[0])["result"]
    assert telling.returncode == 0, told
    assert heads(run) == [(DISABLED, DETACHED)] * ranks, heads(run)
    assert told["stopped"] == ranks and told["still_recording"] == 0, told
    assert job.poll() is None and not os.path.exists(work + "/first"), "the job ended too early to tell anything"
    said = job.communicate(timeout=120)[1]
    assert job.returncode == 0 and os.path.exists(work + "/second"), (job.returncode, said)
    assert f"{ranks} were detached" in said, said
    records = [name for name in os.listdir(run) if ".cox" in name]
    assert len(records) == ranks, f"a process that started after the detach recorded: {records}"
    assert "cox detach" in subprocess.run([cox, "diagnose", run], capture_output=True, text=True, env=environment).stderr
    print(f"{ranks} ranks on {len(os.sched_getaffinity(0))} cores stopped recording within {took:.2f} s")
    assert took < 1.0, took
