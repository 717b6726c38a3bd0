#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Predicted against measured: policies and layouts of `cox train` on four processes between hosts that are namespaces of this machine.

usage: live_train.py BUILD [FABRIC]... [--repetitions N] [--steps N] [--write FILE]

Each process of `cox train --transport gloo` is on a host of its own, over an emulated network. A prediction is `cox simulate` of
the bytes and the order of messages that docs/concepts/training-on-processes.md states, on links measured as in
live_accuracy.py (echoes and streams, before the job), and what a step takes on one process. Nothing is fitted to a step.
--repetitions  jobs of each kind (3)
--steps        steps of each job; rounds of local steps are eight of them (16)
--write        put the table between its marks into FILE
Needs root, ip, chrt, TAP devices, and the programs cox, cox-train-gloo and fabric of BUILD.
Exit 0: the bars hold (median error 10 %, worst 25 %). 1: not. 77: cannot run here.
"""
import datetime
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass

import live_accuracy
from live_accuracy import REAL_TIME, finish, measured_network, on
from live_steps import write_between_marks

MEDIAN_BAR, WORST_BAR = 0.10, 0.25
RANKS, SPINE_DELAY_US, SIMULATED_STEPS = 4, 100, 4
BEGIN, END = "<!-- live training: written by bench/live_train.py -->", "<!-- /live training -->"
# Layers with their biases, as `cox train` cuts mlp,dimension=64,hidden=256,layers=4 into units.
DIMENSION, HIDDEN, CLASSES, LAYERS = 64, 256, 2, 4
PROBLEM = f"mlp,dimension={DIMENSION},hidden={HIDDEN},layers={LAYERS}"
WIDTHS = [DIMENSION, *[HIDDEN] * LAYERS, CLASSES]
UNIT_BYTES = [4 * (a + 1) * b for a, b in zip(WIDTHS, WIDTHS[1:])]
LOCAL_STEPS = 8
BATCH, MICRO_BATCHES = 128, 4  # of a pipeline
WINDOW = 512 << 10  # a message fits into it, as into those that Linux allows where nobody says otherwise


@dataclass(frozen=True)
class Fabric:
    name: str
    what: str
    mbit: str
    delay_us: int
    per_leaf: int = 4
    hosts: tuple = (0, 1, 2, 3)  # of the ranks
    spine_mbit: str = ""  # as `mbit` where it is empty


FABRICS = [
    Fabric("even", "four hosts on one switch, 100 Mbit/s and 0.5 ms a cable", "100", 500),
    Fabric("far", "the same with 40 Mbit/s and 1.5 ms", "40", 1500),
    Fabric("two-leaves", "two hosts on each of two switches between which there is one cable of 100 Mbit/s", "100", 500, 2),
    Fabric("scattered", "the same, ranks dealt to the switches in turn", "100", 500, 2, (0, 2, 1, 3)),
    Fabric("slow-between", "two hosts on each of two switches between which there is one cable of 20 Mbit/s", "100", 500, 2,
           spine_mbit="20"),
]


@dataclass(frozen=True)
class Kind:
    """A policy or layout: options of `cox train`, and its messages in words of `cox simulate`."""
    name: str
    options: tuple
    collectives: tuple = ()  # (kind, algorithm, bytes), one after the other
    computes: int = 1  # times that a worker computes in what is measured
    is_pipeline: bool = False
    policy: str = ""  # of workers and a server: where it is told, the first host is the server


ALL, SUM, PUSH, PULL = sum(UNIT_BYTES), "all-reduce", "reduce", "broadcast"
# Parts that every rank sends to who keeps them, and gets from there: servers on all ranks.
KEEPERS = "parameter-server"
KINDS = [
    Kind("data parallel, fixed order", (), ((SUM, KEEPERS, ALL),)),
    Kind("data parallel, ring", ("--all-reduce", "ring"), ((SUM, "ring", ALL),)),
    Kind("data parallel, halving-doubling", ("--all-reduce", "halving-doubling"), ((SUM, "halving-doubling", ALL),)),
    Kind("data parallel, hierarchical", ("--all-reduce", "hierarchical,group=2"), ((SUM, "hierarchical", ALL),)),
    Kind("ZeRO 1", ("--layout", "zero-1"), ((SUM, KEEPERS, ALL),)),
    Kind("ZeRO 2", ("--layout", "zero-2"), (*[(PUSH, KEEPERS, u) for u in UNIT_BYTES], (PULL, KEEPERS, ALL))),
    # Units forth; back all but the last, which is still there, and the first, which nobody reads; gradients.
    Kind("ZeRO 3", ("--layout", "zero-3"),
         (*[(PULL, KEEPERS, u) for u in (*UNIT_BYTES, *UNIT_BYTES[1:-1])], *[(PUSH, KEEPERS, u) for u in UNIT_BYTES])),
    Kind(f"local SGD, {LOCAL_STEPS} steps", ("--policy", f"local-sgd,local-steps={LOCAL_STEPS}"), ((SUM, KEEPERS, ALL),),
         LOCAL_STEPS),
    Kind(f"pipeline, 1F1B, {MICRO_BATCHES} micro-batches of {BATCH // MICRO_BATCHES}",
         ("--layout", "pipeline", "--batch", str(BATCH), "--set",
          f"job.layout.pipeline={RANKS},job.micro_batches={MICRO_BATCHES}"), is_pipeline=True),
    Kind("asynchronous, three workers and a server", ("--policy", "asynchronous"), policy="asynchronous"),
]


def kinds_on(fabric):
    """Workers without a common step are simulated with costs of messages, not on links that are shared."""
    return [k for k in KINDS if not k.policy or fabric.per_leaf == RANKS]


# --- on the hosts -----------------------------------------------------------------------------------------------

def start_ranks(program, told):
    """What `cox train --launch` starts: a rank on each host of LIVE_TRAIN_HOSTS; says what the first one says."""
    hosts = [int(h) for h in os.environ["LIVE_TRAIN_HOSTS"].split(",")]
    with tempfile.TemporaryDirectory(prefix="cox-live-train.") as store:
        ranks = [on(host, f"{REAL_TIME} env GLOO_SOCKET_IFNAME=eth0 {shlex.join([program, str(r), store, *told])}")
                 for r, host in enumerate(hosts)]
        texts = [rank.communicate(timeout=300)[0] for rank in ranks]
    failed = [t for rank, t in zip(ranks, texts) if rank.returncode]
    sys.stdout.write(failed[0] if failed else texts[0])
    sys.exit(1 if failed else 0)


# --- in the lab -------------------------------------------------------------------------------------------------

def trained(build, options, steps, more=()):
    """The result of a job, in JSON."""
    scenario = os.path.join(live_accuracy.source, "examples/scenarios/learn-uneven.toml")
    line = [*REAL_TIME.split(), f"{build}/cox", "train", scenario, "--problem", PROBLEM, "--optimizer", "sgd,rate=0.001", "--steps", str(steps), "--json", "--quiet", *options, *more]
    done = subprocess.run(line, stdout=subprocess.PIPE, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"live_train: {shlex.join(line)}: exit {done.returncode}")
    return json.loads(done.stdout)["result"]


def measured_step(build, fabric, kind, steps):
    os.environ["LIVE_TRAIN_HOSTS"] = ",".join(map(str, fabric.hosts))
    me = shlex.join([sys.executable, os.path.realpath(__file__), "--on-hosts"])
    result = trained(build, kind.options, steps * kind.computes,
                     ("--set", f"cluster.nodes={RANKS - bool(kind.policy)}", "--procs", str(RANKS), "--transport", "gloo", "--launch", me))
    # A version of a server is one worker's step.
    versions = RANKS - 1 if kind.policy else 1
    return versions * result["step_mean_s"], versions * result["ranks"][0]["sent_bytes"] / result["versions"]


def inside(build, name, repetitions, steps):
    fabric = next(f for f in FABRICS if f.name == name)
    network = measured_network((0, 1), RANKS, fabric.per_leaf)
    network["across_trip_s"] = network["round_trip_s"]
    if fabric.per_leaf < RANKS:
        network["across_trip_s"] = float(finish(
            [on(0, f"{REAL_TIME} {sys.executable} {os.path.realpath(live_accuracy.__file__)} --ping 10.77.0.{RANKS}")], "ping")[0])
    alone = ("--set", "cluster.nodes=1", "--procs", "1")
    compute, batch_compute = (trained(build, o, 10 * steps, alone)["step_mean_s"] for o in ((), ("--batch", str(BATCH))))
    rows = [{"kind": k.name, "steps": [measured_step(build, fabric, k, steps) for _ in range(repetitions)]}
            for k in kinds_on(fabric)]
    print(json.dumps({"network": network, "compute_s": compute, "batch_compute_s": batch_compute, "steps": steps, "rows": rows}))


# --- outside ----------------------------------------------------------------------------------------------------

def write_graph(path, fabric, network):
    """Node k is the host of rank k. A message waits for the receiver's notice: its latency is a round trip."""
    leaf, across = network["round_trip_s"], network["across_trip_s"]
    with open(path, "w") as f:
        for k, host in enumerate(fabric.hosts):
            f.write(f"n{k} leaf{host // fabric.per_leaf} {leaf / 2 * 1e6:.3f}us {network['cable_bytes_per_s']:.0f}B/s\n")
        if fabric.per_leaf < RANKS:
            for number in range(RANKS // fabric.per_leaf):
                f.write(f"leaf{number} spine {(across - leaf) / 2 * 1e6:.3f}us {network['uplink_bytes_per_s']:.0f}B/s\n")


def simulated_step(build, folder, job, nodes=RANKS, network="[fabric]\nkind = \"graph\"\ngraph_file = \"net.txt\"\n",
                   steps=SIMULATED_STEPS):
    path = os.path.join(folder, "job.toml")
    with open(path, "w") as f:
        f.write(f"[cluster]\nnodes = {nodes}\n{network}[job]\nsteps = {steps}\n{job}")
    done = subprocess.run([f"{build}/cox", "simulate", path, "--json"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"live_train: {done.stderr}\n{job}")
    return json.loads(done.stdout)["result"]["step_end_s"][-1] / steps


def collective_job(kind, algorithm, size):
    more = {"hierarchical": "group = 2\n", KEEPERS: f"servers = {RANKS}\n"}.get(algorithm, "")
    return f"[job.collective]\nkind = \"{kind}\"\nalgorithm = \"{algorithm}\"\nbytes = \"{size}B\"\n{more}"


def pipeline_job(compute):
    part = compute / LAYERS / MICRO_BATCHES
    return (f"workload = \"training\"\nschedule = \"1f1b\"\nmicro_batches = {MICRO_BATCHES}\n[job.layout]\npipeline = {RANKS}\n"
            f"[job.layers]\ncount = {LAYERS}\nforward = \"{part / 3 * 1e6:.3f}us\"\nbackward = \"{part * 2 / 3 * 1e6:.3f}us\"\n"
            f"activations = \"{4 * HIDDEN * BATCH // MICRO_BATCHES}B\"\n")


def policy_job(kind, compute):
    return (f"workload = \"training\"\n[policy]\nkind = \"{kind.policy}\"\n[[job.layers]]\nforward = \"{compute / 3 * 1e6:.3f}us\"\n"
            f"backward = \"{compute * 2 / 3 * 1e6:.3f}us\"\ngradients = \"{ALL}B\"\n")


def predicted_step(build, fabric, kind, got):
    with tempfile.TemporaryDirectory(prefix="cox-live-train.") as folder:
        write_graph(os.path.join(folder, "net.txt"), fabric, got["network"])
        if kind.policy:
            network = (f"[cost.across]\nlatency = \"{got['network']['round_trip_s'] * 1e6:.3f}us\"\n"
                       f"bandwidth = \"{got['network']['cable_bytes_per_s']:.0f}B/s\"\n")
            return simulated_step(build, folder, policy_job(kind, got["compute_s"]), RANKS - 1, network, got["steps"])
        if kind.is_pipeline:
            return simulated_step(build, folder, pipeline_job(got["batch_compute_s"]))
        return kind.computes * got["compute_s"] + sum(simulated_step(build, folder, collective_job(*c)) for c in kind.collectives)


def run_fabric(build, fabric, repetitions, steps):
    lab = [os.path.join(live_accuracy.source, "tests/support/lab/shaped.sh"), os.path.join(build, "fabric"), str(RANKS),
           str(fabric.per_leaf), fabric.mbit, str(fabric.delay_us), fabric.spine_mbit or fabric.mbit, str(SPINE_DELAY_US), "--", sys.executable,
           os.path.realpath(__file__), "--inside", build, fabric.name, str(repetitions), str(steps)]
    done = subprocess.run(["timeout", "900", *lab], stdout=subprocess.PIPE, text=True, env=os.environ | {"LAB_WINDOW": str(WINDOW)})
    if done.returncode == 77:
        sys.exit(77)
    if done.returncode:
        sys.exit(f"live_train: {fabric.name}: exit {done.returncode}")
    return json.loads(done.stdout.splitlines()[-1])


def rows_of(build, fabric, got):
    for kind, measured in zip(kinds_on(fabric), got["rows"]):
        times = sorted(t for t, _ in measured["steps"])
        middle = statistics.median(times)
        predicted = predicted_step(build, fabric, kind, got)
        yield {"fabric": fabric.name, "kind": kind.name, "measured_s": middle, "from_s": times[0], "to_s": times[-1],
               "sent_bytes": measured["steps"][0][1], "predicted_s": predicted, "error": predicted / middle - 1}


def table(rows, repetitions, steps, load):
    lines = [f"Measured {datetime.date.today()} on {os.cpu_count()} cores, {repetitions} jobs of {steps} steps (or rounds) each, load "
             f"average {load[0]:.0f} to {load[1]:.0f}. Errors are (predicted - measured) / measured.", "",
             "| network | policy or layout | measured (range) | predicted | error |", "|---" * 5 + "|"]
    for r in rows:
        lines.append(f"| {r['fabric']} | {r['kind']} | {r['measured_s'] * 1e3:.0f} ms ({r['from_s'] * 1e3:.0f} to "
                     f"{r['to_s'] * 1e3:.0f}) | {r['predicted_s'] * 1e3:.0f} ms | {r['error'] * 100:+.1f} % |")
    return "\n".join(lines)


def main(build, names, repetitions, steps, page):
    rows, loads = [], []
    for fabric in FABRICS:
        if names and fabric.name not in names:
            continue
        loads.append(os.getloadavg()[0])
        got = run_fabric(build, fabric, repetitions, steps)
        print(json.dumps({k: got[k] for k in ("network", "compute_s", "batch_compute_s")}), flush=True)
        for row in rows_of(build, fabric, got):
            rows.append(row)
            print(json.dumps(row), flush=True)
    text = table(rows, repetitions, steps, (min(loads), max(loads)))
    print(text)
    if page:
        write_between_marks(page, BEGIN, END, text)
    errors = [abs(r["error"]) for r in rows]
    middle, worst = statistics.median(errors), max(errors)
    print(f"median {middle * 100:.1f} %, worst {worst * 100:.1f} % (bars {MEDIAN_BAR * 100:.0f} % and {WORST_BAR * 100:.0f} %)")
    sys.exit(0 if middle <= MEDIAN_BAR and worst <= WORST_BAR else 1)


if __name__ == "__main__":
    words = sys.argv[1:]
    if words[:1] == ["--on-hosts"]:
        start_ranks(words[1], words[2:])
    elif words[:1] == ["--inside"]:
        inside(words[1], words[2], int(words[3]), int(words[4]))
    elif not words or words[0].startswith("-"):
        sys.exit(__doc__)
    else:
        take = {words[i]: words[i + 1] for i in range(len(words) - 1) if words[i].startswith("--")}
        chosen = [w for w in words[1:] if not w.startswith("--") and w not in take.values()]
        main(os.path.realpath(words[0]), chosen, int(take.get("--repetitions", 3)), int(take.get("--steps", 16)), take.get("--write"))
