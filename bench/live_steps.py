#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Predicted against measured: steps of data-parallel training between hosts that are namespaces of this machine.

usage: live_steps.py BUILD [CASE]... [--repetitions N] [--steps N] [--write FILE]

Devices are timers, collectives are Gloo's rings (bench/live_step.cpp), over an emulated network of 100 Mbit/s and 0.5 ms
a cable: two leaves of four hosts whose uplinks are as fast as one host's cable. A prediction is `cox simulate` of a
scenario whose links are measured as in live_accuracy.py: echoes and streams, before the job. Nothing is fitted to a step.
--repetitions  times that each case is measured (3)
--steps        steps of each time (12)
--write        put the table between its marks into FILE
Needs root, ip, chrt, TAP devices, and the programs cox, fabric and live_step of BUILD.
Exit 0: the bars hold (over the cases, median error 10 %, worst 25 %, of the step and of its change against `plain`).
1: not. 77: cannot run here.
"""
import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

import live_accuracy
from live_accuracy import REAL_TIME, finish, on

MEDIAN_BAR, WORST_BAR = 0.10, 0.25
PER_LEAF, HOSTS, MBIT, DELAY_US, SPINE_DELAY_US = 4, 8, 100, 500, 100
SIMULATED_STEPS = 12
BEGIN, END = "<!-- live steps: written by bench/live_steps.py -->", "<!-- /live steps -->"


@dataclass(frozen=True)
class Job:
    hosts: tuple  # in the order of the ring
    buckets: int = 1
    bucket_bytes: int = 2 << 20
    forward_ms: float = 60
    backward_ms: float = 120


@dataclass(frozen=True)
class Case:
    name: str
    what: str
    jobs: tuple
    slow_hosts: tuple = ()  # (host, Mbit/s)


LEAF, OTHER_LEAF = (0, 1, 2, 3), (4, 5, 6, 7)
SPLIT, OTHER_SPLIT = (0, 1, 4, 5), (2, 3, 6, 7)
CASES = [
    Case("plain", "one leaf, one bucket of 2 MiB after the backward pass", (Job(LEAF),)),
    Case("overlap", "the same in four buckets beside the backward pass", (Job(LEAF, 4, 512 << 10),)),
    Case("slow-nic", "one host's cable has 40 Mbit/s", (Job(LEAF),), ((2, 40),)),
    Case("two-leaves", "two hosts on each leaf, neighbours in the ring beside each other", (Job(SPLIT),)),
    Case("scattered", "the same, neighbours in the ring on different leaves", (Job((0, 4, 1, 5)),)),
    Case("two-jobs-packed", "two jobs, a leaf each", (Job(LEAF), Job(OTHER_LEAF))),
    Case("two-jobs-split", "two jobs, half of each on each leaf: both cross the uplinks", (Job(SPLIT), Job(OTHER_SPLIT))),
    Case("two-jobs-uneven", "the same, the second computes for twice as long",
         (Job(SPLIT), Job(OTHER_SPLIT, forward_ms=120, backward_ms=240))),
]


# --- in the lab -------------------------------------------------------------------------------------------------

def measured_network(case):
    """Round trips on a leaf and between leaves, streams of a cable, of the uplink and of each slow cable."""
    me = f"{sys.executable} {os.path.realpath(live_accuracy.__file__)}"

    def trip(a, b):
        return float(finish([on(a, f"{REAL_TIME} {me} --ping 10.77.0.{b + 1}")], "ping")[0])

    def streams(pairs):
        line, start = f"{REAL_TIME} {me}", time.monotonic() + 1.0
        into = [on(b, f"{line} --receive 10.77.0.{b + 1} {5100 + k} {start}") for k, (_, b) in enumerate(pairs)]
        out = [on(a, f"{line} --send 10.77.0.{b + 1} {5100 + k} {start}") for k, (a, b) in enumerate(pairs)]
        finish(out, "stream")
        return sum(float(t) for t in finish(into, "stream"))

    return {"leaf_trip_s": trip(0, 1), "trip_s": trip(0, PER_LEAF), "cable_bytes_per_s": streams([(0, 1)]),
            "uplink_bytes_per_s": streams([(i, i + PER_LEAF) for i in range(PER_LEAF)]),
            "slow_bytes_per_s": {str(host): streams([(host, (host + 1) % PER_LEAF)]) for host, _ in case.slow_hosts}}


def measured_steps(build, case, steps):
    """Per job, the mean time of its steps but the first, while all jobs run; they begin at one instant."""
    with tempfile.TemporaryDirectory(prefix="cox-live.") as folder:
        start, running = time.monotonic() + 2.0, []
        for j, job in enumerate(case.jobs):
            store = os.path.join(folder, str(j))
            os.mkdir(store)
            for rank, host in enumerate(job.hosts):
                words = (f"{rank} {len(job.hosts)} {store} eth0 {start} {steps} {job.forward_ms} {job.backward_ms} "
                         f"{job.buckets} {job.bucket_bytes}")
                running.append(on(host, f"{REAL_TIME} {build}/live_step {words}"))
        texts = finish(running, "a job")
    times = []
    for job in case.jobs:
        ranks, texts = texts[:len(job.hosts)], texts[len(job.hosts):]
        ends = [max(at) for at in zip(*([float(t) for t in text.split()] for text in ranks))]
        times.append(ends)
    until = min(ends[-1] for ends in times)  # while all jobs run
    return [mean_step([e for e in ends if e <= until + 1e-9]) for ends in times]


def mean_step(ends):
    return (ends[-1] - ends[1]) / (len(ends) - 2)


def inside(build, name, repetitions, steps):
    case = next(c for c in CASES if c.name == name)
    network = measured_network(case)
    print(json.dumps({"network": network, "steps_s": [measured_steps(build, case, steps) for _ in range(repetitions)]}))


# --- outside ----------------------------------------------------------------------------------------------------

def gloo_latency(trip, transfer, ranks):
    """Mean latency of a step of Gloo's ring: see live_accuracy.py, latency_of."""
    half = transfer / (2 * (ranks - 1)) / 2
    return (trip + (ranks - 2) * max(trip - half, trip / 2)) / (ranks - 1)


def write_graph(path, case, network, nodes):
    """The cables; node k of the scenario is host nodes[k]."""
    job = case.jobs[0]
    transfer = 2 * (len(job.hosts) - 1) / len(job.hosts) * job.bucket_bytes / network["cable_bytes_per_s"]
    leaf, across = (gloo_latency(network[t], transfer, len(job.hosts)) for t in ("leaf_trip_s", "trip_s"))
    with open(path, "w") as f:
        for k, host in enumerate(nodes):
            rate = network["slow_bytes_per_s"].get(str(host), network["cable_bytes_per_s"])
            f.write(f"n{k} leaf{host // PER_LEAF} {leaf / 2 * 1e6:.3f}us {rate:.0f}B/s\n")
        for number in (0, 1):
            f.write(f"leaf{number} spine {(across - leaf) / 2 * 1e6:.3f}us {network['uplink_bytes_per_s']:.0f}B/s\n")


def scenario(case, number):
    """Job `number` of the case, with the others beside it, and the hosts of its nodes."""
    job = case.jobs[number]
    nodes = [h for j in (job, *(j for j in case.jobs if j is not job)) for h in j.hosts]
    part = f"forward = \"{job.forward_ms / job.buckets}ms\"\nbackward = \"{job.backward_ms / job.buckets}ms\"\n"
    layers = f"[[job.layers]]\n{part}gradients = \"{job.bucket_bytes}B\"\n" * job.buckets
    text = (f"[cluster]\nnodes = {len(nodes)}\n[fabric]\nkind = \"graph\"\ngraph_file = \"net.txt\"\n"
            f"[job]\nworkload = \"training\"\nsteps = {SIMULATED_STEPS}\nbucket = \"{job.bucket_bytes}B\"\n"
            f"nodes = {list(range(len(job.hosts)))}\n{layers}")
    at = len(job.hosts)
    for other in (j for j in case.jobs if j is not job):
        text += (f"[[neighbour]]\nkind = \"collective\"\nnodes = {list(range(at, at + len(other.hosts)))}\n"
                 f"compute = \"{other.forward_ms + other.backward_ms}ms\"\nbytes = \"{other.bucket_bytes}B\"\n")
        at += len(other.hosts)
    return text, nodes


def predicted_step(build, case, number, network):
    with tempfile.TemporaryDirectory(prefix="cox-live.") as folder:
        text, nodes = scenario(case, number)
        write_graph(os.path.join(folder, "net.txt"), case, network, nodes)
        path = os.path.join(folder, "job.toml")
        with open(path, "w") as f:
            f.write(text)
        done = subprocess.run([f"{build}/cox", "simulate", path, "--json"], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"live_steps: {case.name}: {done.stderr}\n{text}")
        result = json.loads(done.stdout)["result"]
    return mean_step([0.0, *result["step_end_s"]]), result["engine"]


def run_case(build, case, repetitions, steps):
    rates = [MBIT] * HOSTS
    for host, rate in case.slow_hosts:
        rates[host] = rate
    lab = [os.path.join(live_accuracy.source, "tests/support/lab/shaped.sh"), os.path.join(build, "fabric"), str(HOSTS),
           str(PER_LEAF), ",".join(map(str, rates)), str(DELAY_US), str(MBIT), str(SPINE_DELAY_US), "--", sys.executable,
           os.path.realpath(__file__), "--inside", build, case.name, str(repetitions), str(steps)]
    done = subprocess.run(["timeout", "300", *lab], stdout=subprocess.PIPE, text=True)
    if done.returncode == 77:
        sys.exit(77)
    if done.returncode:
        sys.exit(f"live_steps: {case.name}: exit {done.returncode}")
    return json.loads(done.stdout.splitlines()[-1])


def row_of(case, j, measured, predicted, plain):
    """Name, medians in seconds, errors of the step and of its change."""
    times = sorted(t[j] for t in measured)
    middle = statistics.median(times)
    error = predicted / middle - 1
    change = None if plain is None else (predicted / plain[1]) / (middle / plain[0]) - 1
    return {"case": case.name, "job": j, "measured_s": middle, "from_s": times[0], "to_s": times[-1],
            "predicted_s": predicted, "error": error, "change_error": change}


def table(rows, repetitions, steps, load):
    lines = [f"Measured {datetime.date.today()} on {os.cpu_count()} cores, {repetitions} times {steps} steps each, load average "
             f"{load[0]:.0f} to {load[1]:.0f}. Errors are (predicted - measured) / measured; that of the change is of the ratio "
             "to `plain`.", "",
             "| case | job | measured (range) | predicted | engine | error | error of the change |", "|---" * 7 + "|"]
    for r in rows:
        change = "" if r["change_error"] is None else f"{r['change_error'] * 100:+.1f} %"
        lines.append(f"| {r['case']} | {'AB'[r['job']]} | {r['measured_s'] * 1e3:.0f} ms ({r['from_s'] * 1e3:.0f} to "
                     f"{r['to_s'] * 1e3:.0f}) | {r['predicted_s'] * 1e3:.0f} ms | {r['engine']} | {r['error'] * 100:+.1f} % | {change} |")
    return "\n".join(lines)


def holds(rows):
    """Prints the bars; whether both are met."""
    met = True
    for what in ("error", "change_error"):
        sizes = [abs(r[what]) for r in rows if r[what] is not None]
        if not sizes:
            continue
        middle, worst = statistics.median(sizes), max(sizes)
        met &= middle <= MEDIAN_BAR and worst <= WORST_BAR
        print(f"{'step' if what == 'error' else 'its change'}: median {middle * 100:.1f} %, worst {worst * 100:.1f} % "
              f"(bars {MEDIAN_BAR * 100:.0f} % and {WORST_BAR * 100:.0f} %)")
    return met


def write_between_marks(path, begin, end, text):
    with open(path) as f:
        page = f.read()
    head, rest = page.split(begin)
    with open(path, "w") as f:
        f.write(f"{head}{begin}\n{text}\n{end}{rest.split(end)[1]}")


def main(build, names, repetitions, steps, page):
    rows, plain, loads = [], None, []
    for case in CASES:
        if names and case.name not in names:
            continue
        loads.append(os.getloadavg()[0])
        got = run_case(build, case, repetitions, steps)
        for j in range(len(case.jobs)):
            predicted, engine = predicted_step(build, case, j, got["network"])
            row = row_of(case, j, got["steps_s"], predicted, plain) | {"engine": engine}
            rows.append(row)
            if case.name == "plain":
                plain = (row["measured_s"], predicted)
            print(json.dumps(row), flush=True)
    text = table(rows, repetitions, steps, (min(loads), max(loads)))
    print(text)
    if page:
        write_between_marks(page, BEGIN, END, text)
    sys.exit(0 if holds(rows) else 1)


if __name__ == "__main__":
    words = sys.argv[1:]
    if words[:1] == ["--inside"]:
        inside(words[1], words[2], int(words[3]), int(words[4]))
    elif not words or words[0].startswith("-"):
        sys.exit(__doc__)
    else:
        take = {words[i]: words[i + 1] for i in range(len(words) - 1) if words[i].startswith("--")}
        chosen = [w for w in words[1:] if not w.startswith("--") and w not in take.values()]
        main(os.path.realpath(words[0]), chosen, int(take.get("--repetitions", 3)), int(take.get("--steps", 12)),
             take.get("--write"))
