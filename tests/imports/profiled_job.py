#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A job of four GPUs as a profiler would have left it, with a fault that is known: the whole way from files to cause.

usage: profiled_job.py COX
Clocks are seconds apart, ends half a microsecond. Faults: slower kernels, more kernels, a late host, none; the slow rank
moves; one rank's profiler starts a step later; a file is cut; one rank is missing.
"""
import gzip
import json
import os
import subprocess
import sys
import tempfile

cox = os.path.realpath(sys.argv[1])
RANKS, STEPS = 4, 30
failures = []


def check(what, holds, got):
    if not holds:
        failures.append(what)
        print(f"FAIL {what}: got {got}")


def kernel(name, lane, begin, length, number, extra):
    args = {"stream": lane, "correlation": number, "External id": number} | extra
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": lane, "ts": begin, "dur": length, "args": args}


def launch(begin, number):
    return {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernelExC", "pid": 7, "tid": 1, "ts": begin, "dur": 6,
            "args": {"correlation": number, "External id": number}}


GROUP = {"Collective name": "allreduce", "In msg nelems": 1000000, "Out msg nelems": 1000000, "Group size": RANKS,
         "dtype": "Float", "Process Group Name": "0", "Process Group Description": "default_pg",
         "Process Group Ranks": str(list(range(RANKS)))}


def step_of_rank(events, rank, step, begin, fault, slow, number):
    """Own work of one step; returns its end and the last number."""
    hit = rank == slow
    events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 7, "tid": 1, "ts": begin,
                   "dur": 9000})
    at = begin + (3000 if fault == "host" and hit else 50)
    length = 900 * (1.4 if fault == "slow" and hit else 1)
    for _ in range(14 if fault == "uneven" and hit else 10):
        number += 1
        events.append(launch(at - 20, number))
        events.append(kernel("gemm", 7, at, length, number, {}))
        at += length + 2
    return at, number


def job(fault, slow):
    free, events, number = [1000.0 + 37 * r for r in range(RANKS)], [[] for _ in range(RANKS)], 0
    for step in range(STEPS):
        arrivals = []
        for r in range(RANKS):
            at, number = step_of_rank(events[r], r, step, free[r], fault, slow, number)
            arrivals.append(at)
        end = max(arrivals) + 800
        for r in range(RANKS):
            number += 1
            events[r].append(launch(arrivals[r] - 12, number))
            events[r].append(kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 20,
                                    arrivals[r], end - arrivals[r] + r * 0.5, number, GROUP))
            free[r] = end + r * 0.5 + 5
    return events


def document(rank, events):
    moved = [e | {"ts": round(e["ts"] + rank * 1.5e6, 3), "dur": round(e["dur"], 3)} for e in events]
    return json.dumps({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": RANKS},
                       "baseTimeNanoseconds": 1700000000000000000, "traceEvents": moved})


def diagnose(events, change=None):
    with tempfile.TemporaryDirectory(prefix="cox-profiled.") as work:
        for rank, of_rank in enumerate(events):
            text = document(rank, of_rank)
            if change is not None:
                text = change(rank, text)
            if text is None:
                continue
            name = os.path.join(work, f"host{rank}.trace.json")  # the name tells nothing
            if rank % 2:
                with gzip.open(name, "wt", encoding="utf-8", compresslevel=1) as file:
                    file.write(text)
            else:
                with open(name, "w", encoding="utf-8") as file:
                    file.write(text)
        done = subprocess.run([cox, "diagnose", "--json", work], capture_output=True, text=True, timeout=60, check=False)
    check("exit status", done.returncode == 0, (done.returncode, done.stderr))
    return (json.loads(done.stdout)["result"] if done.returncode == 0 else {"findings": [], "coverage": 0}), done.stderr


for fault, cause, kind in (("slow", "slow_kernels", "compute"), ("uneven", "uneven_work", "compute"),
                           ("host", "late_launch", "host")):
    for slow in (2, 0):  # the answer moves with the rank
        result, _ = diagnose(job(fault, slow))
        said = [(f["rank"], f["cause"], f["cause_class"]) for f in result["findings"]]
        check(f"{fault} on rank {slow}", said == [(slow, cause, kind)], said)
        check(f"{fault}: all matched", result["coverage"] == 1.0, result["coverage"])
        attribution = result.get("attribution") or {}
        check(f"{fault}: charges add up", attribution.get("balanced") is True, attribution.get("balanced"))

result, _ = diagnose(job("none", -1))
check("nobody without a fault", result["findings"] == [], result["findings"])

late = job("slow", 2)
first_end = min(e["ts"] + e["dur"] for e in late[1] if e["name"].startswith("nccl"))
late[1] = [e for e in late[1] if e["ts"] >= first_end]  # its profiler began a step later
result, said = diagnose(late)
check("a later start is moved", "moved" in said, said)
check("and the rank is still named", [f["rank"] for f in result["findings"]] == [2], result["findings"])

result, _ = diagnose(job("slow", 2), lambda rank, text: text[:len(text) * 2 // 3] if rank == 0 else text)
check("a cut file leaves the rank named", [f["rank"] for f in result["findings"]] in ([2], []), result["findings"])

result, _ = diagnose(job("slow", 2), lambda rank, text: None if rank == 3 else text)
check("a missing rank: the late one of those present", [f["rank"] for f in result["findings"]] == [2], result["findings"])
check("and nothing is promised", [f["gain_ratio"] for f in result["findings"]] == [None], result["findings"])
result, _ = diagnose(job("slow", 2), lambda rank, text: None if rank == 2 else text)
check("the late rank is missing: nobody", result["findings"] == [], result["findings"])
check("and it is told", any("3 of 4" in s or "1 of 4" in s for s in result["cannot_tell"]), result["cannot_tell"])

print(f"{len(failures)} failures")
sys.exit(1 if failures else 0)
