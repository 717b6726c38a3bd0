#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How often the demo's fault is found: each fault some times with another rank each time, on real processes.

usage: demo_trials.py BUILD SOURCE [TRIALS [FAULT...]]
Right means: the rank (all of them where the fault rotates) and the class of its cause; or, without a fault, nobody.
Naming the right rank with cause unknown counts as half right and is printed as such; naming another rank is wrong.
At least 9 of 10 of each fault must be right or name nobody. Exit 0 = so, 1 = not.
"""
import json
import os
import subprocess
import sys
import tempfile

build, source = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
trials = int(sys.argv[3]) if len(sys.argv) > 3 else 10
faults = sys.argv[4:] or ["compute", "host", "transient", "rotating", "none"]
KIND = {"compute": "slow_rank", "host": "slow_rank", "transient": "transient_straggler", "rotating": "rotating_straggler"}
CLASS = {"compute": "compute", "host": "host", "transient": "compute", "rotating": None}
RANKS = 8


def trial(fault, rank):
    with tempfile.TemporaryDirectory(prefix="cox-demo-trial.") as work:
        out = os.path.join(work, "out")
        command = [os.path.join(source, "cox-demo"), "--build", build, "--fault", fault, "--out", out]
        if fault != "none":
            command += ["--slow-rank", str(rank)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode != 0:
            return "failed", done.stderr[-300:]
        with open(os.path.join(out, "diagnosis.json"), encoding="utf-8") as file:
            findings = json.load(file)["result"]["findings"]
        said = [(f["kind"], f["ranks"], f["cause"]) for f in findings]
        if not findings:
            return ("right" if fault == "none" else "nobody"), said
        if fault == "none":
            return "wrong", said
        first = findings[0]
        named = rank in first["ranks"] if fault != "rotating" else first["kind"] == KIND[fault]
        if not named or first["kind"] != KIND[fault]:
            return "wrong", said
        if CLASS[fault] in (None, first["cause_class"]):
            return "right", said
        return ("rank only" if first["cause_class"] == "unknown" else "wrong"), said


bad = 0
for fault in faults:
    counts = {}
    for i in range(trials):
        answer, said = trial(fault, (3 * i + 1) % RANKS)
        counts[answer] = counts.get(answer, 0) + 1
        print(f"{fault} {i}: {answer}: {said}", flush=True)
    good = counts.get("right", 0) + counts.get("nobody", 0)
    bad += good < trials - max(1, trials // 10)
    print(f"{fault}: {counts}; right or nobody in {good} of {trials}", flush=True)
sys.exit(1 if bad else 0)
