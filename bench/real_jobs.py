#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How often real jobs with a fault are told for what they are, and quiet ones for quiet: the table in docs/accuracy.md.

usage: real_jobs.py BUILD SOURCE [--times N] [--quiet N] [--only WORD]... [--keep FOLDER] [--write FILE]
--times     jobs per fault, another victim each time (10)
--quiet     jobs without a fault, per program (20)
--only      those whose program or fault holds WORD
--keep      Runs that were not told right, in FOLDER
--write     put the table between its marks into FILE
Right: the kind of finding, its ranks, the position or period where there is one, and nobody else named; of a quiet job,
nobody. Ranks: exactly the ranks, but not all of the rest. Silent: nobody though there was a fault. Everything else is wrong. Exit 0 = all right, 1 = not; what cannot run here is left out.
"""
import argparse
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

RANKS, BUCKETS, BUCKET = 4, 4, 1
BEGIN, END = "<!-- real jobs: written by bench/real_jobs.py -->", "<!-- /real jobs -->"
environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD" and not k.startswith("COX_")}
environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def programs(build, source):
    """Name, command, what the arguments of its faults are."""
    found = []
    gloo = os.path.join(build, "examples", "gloo_train")
    if os.access(gloo, os.X_OK):
        found.append(("gloo_train", [gloo, "--ranks", str(RANKS), "--steps", "100"], "compiled"))
    for library in ("openmpi", "mpich"):
        program = os.path.join(build, "examples", f"mpi_train.{library}")
        launcher = shutil.which(f"mpirun.{library}")
        if launcher and os.access(program, os.X_OK):
            more = ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"] if library == "openmpi" else []
            found.append((f"mpi_train, {'Open MPI' if library == 'openmpi' else 'MPICH'}",
                          [launcher, "-n", str(RANKS), *more, program, "--steps", "100"], "compiled"))
    if subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True, env=environment).returncode == 0:
        found.append(("torch_ddp.py", ["/usr/bin/python3", os.path.join(source, "examples", "torch_ddp.py"), "--ranks",
                                       str(RANKS), "--steps", "100", "--batch", "64"], "torch"))
    return found


def fault_arguments(fault, kind, victim):
    """None where the program has no such fault."""
    at_bucket = ["--buckets", str(BUCKETS), "--fault-bucket", str(BUCKET), "--slow-rank", str(victim)]
    steady = "host" if kind == "torch" else "compute"  # there a fault at a bucket is a wait
    return {
        "quiet": ["--buckets", str(BUCKETS)],
        "one bucket": ["--fault", steady, *at_bucket],
        "rotating at one bucket": ["--fault", "rotating", *at_bucket],
        "two in turn": ["--fault", "alternate", *at_bucket],
        "every tenth step": ["--fault", "pause", "--slow-rank", str(victim), "--host-wait-ms", "300"],
        "data loader": ["--fault", "host", "--slow-rank", str(victim)],
        "garbage collection": ["--fault", "gc", "--slow-rank", str(victim)] if kind == "torch" else None,
    }[fault]


FAULTS = ["one bucket", "rotating at one bucket", "two in turn", "every tenth step", "data loader", "garbage collection", "quiet"]


def expected(fault, victim):
    """Kind, ranks, and (position, of) or (period, phase)."""
    place = (BUCKET + 1, BUCKETS)
    return {
        "one bucket": ("slow_rank", [victim], place),
        "rotating at one bucket": ("rotating_straggler", list(range(RANKS)), place),
        "two in turn": ("rotating_straggler", sorted([victim, (victim + RANKS // 2) % RANKS]), place),
        "every tenth step": ("periodic_pause", [victim], (10, 9)),
        "data loader": ("slow_rank", [victim], None),
        "garbage collection": ("periodic_pause", [victim], (10, 9)),
    }[fault]


def said_of(finding):
    pauses = finding.get("pauses")
    if pauses:
        place = (pauses["period_steps"], pauses["phase"])
    else:
        positions = finding.get("positions") or []
        place = (positions[0]["number"], positions[0]["of"]) if len(positions) == 1 else None
    return finding["kind"], sorted(finding["ranks"]), place


def judge(fault, victim, result):
    said = [said_of(f) for f in result["findings"] if f["ranks"]]
    if not said:
        return "right" if fault == "quiet" else "silent", result["verdict"]
    if fault == "quiet":
        return "wrong", said
    kind, ranks, place = expected(fault, victim)
    first = said[0]
    if not all(set(s[1]) <= set(ranks) for s in said) or first[1] != ranks:
        return "wrong", said
    return ("right" if first[0] == kind and (place is None or first[2] == place) else "ranks"), said


def trial(cox, command, judged, keep):
    with tempfile.TemporaryDirectory(prefix="cox-real.") as folder:
        out = os.path.join(folder, "run")
        done = subprocess.run([cox, "observe", "-q", "-o", out, "--", *command], capture_output=True, text=True, env=environment,
                              timeout=300)
        if done.returncode != 0:
            sys.exit(f"real_jobs: {' '.join(command)}: exit {done.returncode}: {(done.stdout + done.stderr)[-1000:]}")
        told = subprocess.run([cox, "diagnose", out, "--json"], capture_output=True, text=True, env=environment, timeout=120)
        if told.returncode not in (0, 1):
            sys.exit(f"real_jobs: diagnose: {told.stderr}")
        answer, said = judged(json.loads(told.stdout)["result"])
        if keep and answer != "right":
            shutil.copytree(out, keep)
        return answer, said


def count(cox, program, fault, times, keep):
    name, command, kind = program
    counts, loads = {"right": 0, "ranks": 0, "wrong": 0, "silent": 0}, []
    for i in range(times):
        victim = (i + 1) % RANKS
        loads.append(os.getloadavg()[0])
        kept = keep and os.path.join(keep, re.sub(r"\W+", "-", f"{name} {fault} {i}"))
        answer, said = trial(cox, command + fault_arguments(fault, kind, victim), lambda r: judge(fault, victim, r), kept)
        counts[answer] += 1
        print(f"{name}, {fault}, rank {victim}: {answer}{'' if answer == 'right' else f': {said}'}", flush=True)
    return counts, sum(loads) / len(loads)


def table(rows, names, seconds):
    load = max(r[3] for r in rows)
    lines = [f"Measured {datetime.date.today()} on {os.cpu_count()} cores, {seconds / 60:.0f} minutes, load average up to {load:.0f}.", "",
             "| right / ranks / wrong / silent | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for fault in FAULTS:
        cells = []
        for name in names:
            c = next((r[2] for r in rows if r[0] == name and r[1] == fault), None)
            cells.append(f"{c['right']} / {c['ranks']} / {c['wrong']} / {c['silent']}" if c else "")
        if any(cells):
            lines.append(f"| {fault} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def write_into(path, text):
    with open(path, encoding="utf-8") as f:
        page = f.read()
    if BEGIN not in page or END not in page:
        sys.exit(f"real_jobs: {path}: its marks are missing")
    page = re.sub(re.escape(BEGIN) + ".*?" + re.escape(END), lambda _: f"{BEGIN}\n{text}{END}", page, flags=re.S)
    with open(path, "w", encoding="utf-8") as f:
        f.write(page)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("source")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--quiet", type=int, default=20)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--keep", metavar="FOLDER")
    parser.add_argument("--write", metavar="FILE")
    args = parser.parse_args()
    cox = os.path.join(os.path.realpath(args.build), "cox")
    if args.keep and os.path.exists(args.keep) and os.listdir(args.keep):
        sys.exit(f"real_jobs: {args.keep} holds something")
    found = programs(os.path.realpath(args.build), os.path.realpath(args.source))
    rows, begin = [], time.monotonic()
    for program in found:
        for fault in FAULTS:
            if fault_arguments(fault, program[2], 0) is None:
                continue
            if not all(w in program[0] or w in fault for w in args.only):
                continue
            times = args.quiet if fault == "quiet" else args.times
            if times > 0:
                rows.append((program[0], fault, *count(cox, program, fault, times, args.keep)))
    if not rows:
        sys.exit("real_jobs: nothing to run")
    text = table(rows, [p[0] for p in found if any(r[0] == p[0] for r in rows)], time.monotonic() - begin)
    print(text, end="")
    if args.write:
        write_into(args.write, text)
    sys.exit(0 if all(r[2]["right"] == sum(r[2].values()) for r in rows) else 1)


if __name__ == "__main__":
    main()
