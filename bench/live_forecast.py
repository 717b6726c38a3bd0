#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Forecast against measured: real processes at 4, 8 and 16 ranks are observed, 32 and 64 are foretold and then run.

usage: live_forecast.py BUILD [MECHANISM]... [--steps N] [--work MS] [--draws N]
                        [--runs FOLDER] [--write FILE]

Devices are timers, collectives are Gloo's (bench/live_jitter.cpp, which says what each mechanism is). Every job has draws
of its own. What is compared is the median step; the forecast sees the three small Runs and nothing else, then that of 16 alone.
--steps  steps of each job (200)
--work   milliseconds of work in a step (100): long beside what the host needs to carry so many processes
--draws  added to the seed of each job, which is its number of ranks (0)
--runs   keep Runs and step times in FOLDER; what is there is not run again
--write  put the table between its marks into FILE
Needs chrt (real time: others on the host shall not count) and the programs cox and live_jitter of BUILD.
Exit 0: from three sizes the bars hold (median error 8 %, nine of ten inside their band). 1: not. 77: cannot run here.
"""
import datetime
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

MECHANISMS = ["jitter", "persistent", "detours", "shared-host", "shared-link"]
SEEN, ASKED = [4, 8, 16], [32, 64]
MEDIAN_BAR, INSIDE_BAR = 0.08, 0.9
BEGIN, END = "<!-- live forecast: written by bench/live_forecast.py -->", "<!-- /live forecast -->"


def job(build, ranks, steps, work_ms, mechanism, draws):
    seed = str(ranks + draws)
    return ["chrt", "-r", "1", f"{build}/live_jitter", str(ranks), str(steps), str(work_ms), mechanism, seed]


def observed(build, folder, *of_job):
    run = os.path.join(folder, f"run-{of_job[0]}")
    if not os.path.isdir(run):
        subprocess.run([f"{build}/cox", "observe", "-q", "-o", run, "--", *job(build, *of_job)], check=True,
                       stdout=subprocess.DEVNULL, timeout=600)
    return run


def median_step(build, folder, *of_job):
    kept = os.path.join(folder, f"ends-{of_job[0]}")
    if not os.path.exists(kept):
        text = subprocess.run(job(build, *of_job), check=True, capture_output=True, text=True, timeout=600).stdout
        with open(kept, "w") as f:
            f.write(text)
    with open(kept) as f:
        ends = [float(line) for line in f]
    return statistics.median(b - a for a, b in zip(ends[1:], ends[2:]))


def forecast(build, runs):
    sizes = ",".join(str(n) for n in ASKED)
    text = subprocess.run([f"{build}/cox", "forecast", *runs, "--to", sizes, "--json"], check=True, capture_output=True,
                          text=True, timeout=600).stdout
    return {point["ranks"]: point for point in json.loads(text)["result"]["sizes"]}


def rows_of(build, folder, mechanism, steps, work_ms, draws):
    os.makedirs(folder, exist_ok=True)
    runs = [observed(build, folder, n, steps, work_ms, mechanism, draws) for n in SEEN]
    truths = [median_step(build, folder, ranks, steps, work_ms, mechanism, draws) for ranks in ASKED]
    rows = []
    for seen, given in (("three", runs), ("16", runs[-1:])):
        foretold = forecast(build, given)
        for ranks, truth in zip(ASKED, truths):
            point = foretold[ranks]
            if point["refused"]:
                rows.append((mechanism, seen, ranks, None, None, truth))
                continue
            median = point["median"]
            times = (median["value_s"], median["low_s"], median["high_s"])
            shared = point.get("with_shared")
            rows.append((mechanism, seen, ranks, times, shared and shared["high_s"], truth))
    return rows


def table(rows, steps, work_ms):
    lines = [f"Jobs of {', '.join(map(str, SEEN))} ranks ({steps} steps of {work_ms:g} ms on timers), measured "
             f"{datetime.date.today()} on {os.cpu_count()} cores; median step in ms. Seen: all three, or 16 alone; then the second "
             "band reaches up to the figure beside it.", "",
             "| mechanism | seen | ranks | foretold | band of 90 % | shared | measured | error |",
             "|---|---|---|---|---|---|---|---|"]
    good = True
    said = []
    for kind in ("three", "16"):
        answered = 0
        errors, inside, second = [], 0, 0
        asked = [row for row in rows if row[1] == kind]
        for mechanism, seen, ranks, times, shared, truth in asked:
            if not times:
                lines.append(f"| {mechanism} | {seen} | {ranks} | refused | | | {truth * 1e3:.1f} | |")
                continue
            value, low, high = times
            is_in = low <= truth <= high
            lines.append(f"| {mechanism} | {seen} | {ranks} | {value * 1e3:.1f} | {low * 1e3:.1f} to {high * 1e3:.1f} | "
                         f"{f'{shared * 1e3:.1f}' if shared else ''} | {truth * 1e3:.1f} | "
                         f"{100 * (value / truth - 1):+.1f} %{'' if is_in else ', outside'} |")
            answered += 1
            errors.append(abs(value / truth - 1))
            inside += is_in
            second += low <= truth <= (shared or high)
        if not errors:
            said.append(f"From {kind}: all {len(asked)} refused.")
            good = False
            continue
        said.append(f"From {kind}: of {len(asked)}, {answered} answered: median error {100 * statistics.median(errors):.1f} %, worst "
                    f"{100 * max(errors):.1f} %; inside the band {inside}" + (f", the second {second}." if kind == "16" else "."))
        if kind == "three":
            good = statistics.median(errors) <= MEDIAN_BAR and inside >= INSIDE_BAR * answered
    return "\n".join([*lines, "", *said]), good


def main():
    words = sys.argv[1:]

    def option(name, default):
        if name not in words:
            return default
        at = words.index(name)
        value = words[at + 1]
        del words[at:at + 2]
        return value

    steps, work_ms, page = int(option("--steps", 200)), float(option("--work", 100)), option("--write", None)
    kept, draws = option("--runs", None), int(option("--draws", 0))
    if not words:
        sys.exit(__doc__)
    build = os.path.abspath(words[0])
    if not shutil.which("chrt") or not os.access(f"{build}/live_jitter", os.X_OK):
        print("SKIP: no chrt, or no live_jitter in", build)
        return 77
    with tempfile.TemporaryDirectory(prefix="cox-live.") as made:
        rows = [row for mechanism in words[1:] or MECHANISMS
                for row in rows_of(build, os.path.join(kept or made, mechanism), mechanism, steps, work_ms, draws)]
    text, good = table(rows, steps, work_ms)
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
