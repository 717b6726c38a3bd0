#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A delay that hits one rank of a live job once, against what `cox forecast` says of it.

usage: live_decay.py BUILD [MECHANISM]... [--ranks N,N] [--repetitions N] [--write FILE]

An undisturbed job is observed (200 steps of 100 ms on timers, bench/live_jitter.cpp), and `cox forecast --structure --delay`
says from that Run how much of 60 ms stays: the mean with its interval, and the range that nine of ten single delays keep.
Then, again and again, a job with other draws runs twice, with the delay in one rank of its tenth step and without: D_k is how
much later step k ends. Forecast: D_0 lies in its range nine times of ten, and D_k is D_0 for good, as all meet in each step.
--ranks        8,16
--repetitions  of each case (16); the delayed rank is another one each time
--write        put the table between its marks into FILE
Needs chrt (real time: others on the host shall not count) and the programs cox and live_jitter of BUILD.
Exit 0: 8 of 10 single delays keep a part inside their range, and means agree within two standard errors and 0.05. 1: not. 77: cannot run here.
"""
import datetime
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

MECHANISMS = ["jitter", "persistent", "shared-link"]
WORK_MS, DELAY_MS, SEEN_STEPS, STEPS, HIT = 100, 60, 200, 26, 10
INSIDE_BAR, MEAN_BAR = 0.8, 0.05
LATER = [0, 1, 5, 10, 15]
BEGIN, END = "<!-- live decay: written by bench/live_decay.py -->", "<!-- /live decay -->"


def job(build, ranks, steps, mechanism, seed, *delay):
    words = [ranks, steps, WORK_MS, mechanism, seed, *delay]
    return ["chrt", "-r", "1", f"{build}/live_jitter", *(str(w) for w in words)]


def foretold(build, ranks, mechanism):
    with tempfile.TemporaryDirectory(prefix="cox-live.") as folder:
        run = os.path.join(folder, "run")
        subprocess.run([f"{build}/cox", "observe", "-q", "-o", run, "--", *job(build, ranks, SEEN_STEPS, mechanism, 1)],
                       check=True, stdout=subprocess.DEVNULL, timeout=600)
        text = subprocess.run([f"{build}/cox", "forecast", run, "--to", str(ranks), "--delay", f"{DELAY_MS}ms", "--json"],
                              check=True, capture_output=True, text=True, timeout=600).stdout
    return json.loads(text)["result"]["structure_detail"]["kept"]


def step_ends(*of_job):
    text = subprocess.run(job(*of_job), check=True, capture_output=True, text=True, timeout=600).stdout
    return [float(line) for line in text.split()]


def kept_by_step(build, ranks, mechanism, repetition):
    seed = 1000 + repetition
    without = step_ends(build, ranks, STEPS, mechanism, seed)
    delayed = step_ends(build, ranks, STEPS, mechanism, seed, DELAY_MS, (3 + 5 * repetition) % ranks, HIT)
    begun = delayed[HIT - 1] - without[HIT - 1]
    return [(b - a - begun) / (DELAY_MS / 1e3) for a, b in zip(without[HIT:], delayed[HIT:])]


def case(build, mechanism, ranks, repetitions):
    said = foretold(build, ranks, mechanism)
    kept = [kept_by_step(build, ranks, mechanism, i) for i in range(repetitions)]
    low, high = said["one_delay"]["low"], said["one_delay"]["high"]
    # A host that wakes a process late by a millisecond is not what is asked about.
    slack = 1 / DELAY_MS
    first = [d[0] for d in kept]
    row = {"mechanism": mechanism, "ranks": ranks, "said": said["kept"]["value"], "low": low, "high": high,
           "inside": sum(low - slack <= d <= high + slack for d in first), "of": repetitions,
           "error": statistics.stdev(first) / math.sqrt(repetitions),
           "by_step": [statistics.mean(d[k] for d in kept) for k in LATER]}
    print(row, flush=True)
    return row


def table(rows):
    lines = [f"{DELAY_MS} ms in one rank of step {HIT}, {rows[0]['of']} times each, steps of {WORK_MS} ms on timers, measured "
             f"{datetime.date.today()} on {os.cpu_count()} cores. D_k / d, mean over repetitions (± standard error).", "",
             "| mechanism | ranks | foretold, mean | nine of ten | measured D_0 / d | inside | "
             + " | ".join(f"k = {k}" for k in LATER[1:]) + " |", "|---|---|---|---|---|---|" + "---|" * (len(LATER) - 1)]
    for r in rows:
        lines.append(f"| {r['mechanism']} | {r['ranks']} | {r['said']:.3f} | {r['low']:.2f} to {r['high']:.2f} | "
                     f"{r['by_step'][0]:.3f} ± {r['error']:.3f} | {r['inside']} of {r['of']} | "
                     + " | ".join(f"{d:.3f}" for d in r["by_step"][1:]) + " |")
    inside, of = sum(r["inside"] for r in rows), sum(r["of"] for r in rows)
    agree = sum(abs(r["by_step"][0] - r["said"]) <= 2 * r["error"] + MEAN_BAR for r in rows)
    lines += ["", f"Inside their range: {inside} of {of} single delays. Means agree in {agree} of {len(rows)} cases."]
    return "\n".join(lines), inside >= INSIDE_BAR * of and agree == len(rows)


def main():
    words = sys.argv[1:]

    def option(name, default):
        if name not in words:
            return default
        at = words.index(name)
        value = words[at + 1]
        del words[at:at + 2]
        return value

    ranks = [int(n) for n in option("--ranks", "8,16").split(",")]
    repetitions, page = int(option("--repetitions", 16)), option("--write", None)
    if not words:
        sys.exit(__doc__)
    build = os.path.abspath(words[0])
    if not shutil.which("chrt") or not os.access(f"{build}/live_jitter", os.X_OK):
        print("SKIP: no chrt, or no live_jitter in", build)
        return 77
    rows = [case(build, mechanism, n, repetitions) for mechanism in words[1:] or MECHANISMS for n in ranks]
    text, good = table(rows)
    print(text)
    if page:
        with open(page) as f:
            old = f.read()
        head, rest = old.split(BEGIN)
        with open(page, "w") as f:
            f.write(f"{head}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
