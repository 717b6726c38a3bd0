#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A signal reaches an observed job as often as it was sent: once where only cox got it, and once, not twice, where the
sender signalled every process of the job or its whole group, as schedulers do; after Ctrl-C what was recorded is counted.
usage: signals_test.py BUILD SOURCE [CASE...]
"""
import json
import os
import re
import select
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))
from cases import cases_of, run_cases  # noqa: E402
from processes import signal_group, signal_process  # noqa: E402

build = os.path.realpath(sys.argv[1])
cox = os.path.join(build, "cox")
environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD" and not k.startswith("COX_")}
counting = """
import os, signal, sys, time
count = 0
def one_more(*_):
    global count
    count += 1
    os.write(1, b"%d\\n" % count)
signal.signal(signal.SIGUSR1, one_more)
os.write(1, b"0\\n")
while True:
    time.sleep(10)
"""
rounds = 10


def below(process):
    """All processes below one."""
    with open(f"/proc/{process}/task/{process}/children") as f:
        children = [int(c) for c in f.read().split()]
    return [p for c in children for p in [c] + below(c)]


def arrives_once(send, work):
    job = subprocess.Popen([cox, "observe", "-q", "-o", work + "/run", "--", sys.executable, "-c", counting],
                           stdout=subprocess.PIPE, bufsize=0, env=environment, start_new_session=True)
    try:
        assert job.stdout.readline() == b"0\n"
        for i in range(1, rounds + 1):
            send(job)
            assert job.stdout.readline() == b"%d\n" % i, f"signal {i} did not arrive once"
            # The second one of a pair would come now; after the next signal it could not be told from that.
            assert not select.select([job.stdout], [], [], 0.3)[0], f"signal {i} arrived twice"
    finally:
        signal_group(job.pid, signal.SIGKILL)
        job.wait(timeout=30)
    return f"{rounds} of {rounds} arrived once"


def case_to_cox(work):
    return arrives_once(lambda job: signal_process(job.pid, signal.SIGUSR1), work)


def case_to_group(work):
    return arrives_once(lambda job: signal_group(job.pid, signal.SIGUSR1), work)


def case_to_all(work):
    def send(job):
        for process in below(job.pid) + [job.pid]:
            signal_process(process, signal.SIGUSR1)

    return arrives_once(send, work)


def case_to_all_cox_first(work):
    def send(job):
        for process in [job.pid] + below(job.pid):
            signal_process(process, signal.SIGUSR1)

    return arrives_once(send, work)


def case_interrupted(work):
    """Ctrl-C in a terminal: everybody gets SIGINT, the job ends by it as without us, and no event is said to be none."""
    job = subprocess.Popen([cox, "observe", "-o", work + "/run", "--", os.path.join(build, "many_marks"), "2", "1000000", "1000"],
                           stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True)
    try:
        while not os.path.isdir(work + "/run") or len([f for f in os.listdir(work + "/run") if f.endswith(".coxraw")]) < 2:
            time.sleep(0.05)
        time.sleep(1.5)  # of which the last half second may be lost
        signal_group(job.pid, signal.SIGINT)
        said = job.communicate(timeout=60)[1]
    finally:
        if job.poll() is None:
            signal_group(job.pid, signal.SIGKILL)
    assert job.returncode == -signal.SIGINT, job.returncode
    counted = re.search(r"recorded 2 ranks, ([1-9]\d*) events", said)
    assert counted, said
    told = subprocess.run([cox, "diagnose", "--json", work + "/run"], capture_output=True, text=True, env=environment)
    assert told.returncode == 0, told.stderr
    verdict = json.loads(told.stdout)["result"]
    assert verdict["ending"]["told"] == signal.SIGINT and "SIGINT" in verdict["ending"]["text"], verdict["ending"]
    assert verdict["outcome"] != "job_failed", verdict["outcome"]
    return counted[0]


run_cases(cases_of(globals(), "case_"), sys.argv[3:])
