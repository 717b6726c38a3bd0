#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Seven process groups of PyTorch over Gloo, started by mp.spawn without any launcher variable: collectives and
# bytes of each as the program counted them; every operation submitted, executed and awaited under one number.
. "$(dirname "$0")/shell.sh"
need_torch
unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo PYTHONWARNINGS=ignore
port=$(free_port)
job=(timeout 150 /usr/bin/python3 "$source_dir/tests/e2e/torch_groups.py" "$port")
equal "$(status "$cox" observe -o "$work/run" -- "${job[@]}")" 0 "exit status under cox"
cp "$work/out" "$work/printed"
equal "$(status "$cox" diagnose "$work/run" --json)" 0 "exit status of diagnose"
cp "$work/out" "$work/diagnosis.json"
equal "$(status "$cox" export "$work/run" -o "$work/trace.json")" 0 "exit status of export"
/usr/bin/python3 - "$work/diagnosis.json" "$work/trace.json" "$work/printed" <<'PY'
import collections, json, re, sys
d, trace = (json.load(open(p)) for p in sys.argv[1:3])
r = d["result"]
printed = []
for m in re.finditer(r"group (\S+) \(ranks ([\d,]+)\): (\d+) collectives, (\d+) bytes", open(sys.argv[3]).read()):
    printed.append((len(m[2].split(",")), int(m[3]), int(m[4])))
assert len(printed) == 7, printed
found = [(c["size"], c["collectives"], c["bytes"]) for c in r["communicators"]]
assert sorted(found) == sorted(printed), (sorted(found), sorted(printed))
assert r["coverage"] == 1.0 and not d["warnings"], (r["coverage_detail"], d["warnings"])
assert [x["rank"] for x in r["ranks"]] == [0, 1, 2, 3], r["ranks"]
names = [c["name"] for c in r["communicators"]]
assert len(set(names)) == 7 and "world" in names and not any(n.endswith("/") for n in names), names
print("seven groups as counted by the program:", sorted(found))

# The monitored barrier runs where it is called: nothing is submitted.
monitored = 4 * 2
seen = collections.defaultdict(collections.Counter)
threads = collections.defaultdict(set)
program = collections.defaultdict(set)
for e in trace["traceEvents"]:
    if e.get("cat") == "submit":
        program[e["pid"]].add(e["tid"])
monitored_seen = 0
for e in trace["traceEvents"]:
    if e.get("cat") not in ("submit", "collective", "wait"):
        continue
    if e["cat"] == "collective" and e["tid"] in program[e["pid"]]:
        assert e["name"] == "Barrier", e
        monitored_seen += 1
        continue
    seen[e["cat"]][(e["pid"], e["args"]["communicator"], e["args"]["sequence"])] += 1
    threads[(e["pid"], e["cat"])].add(e["tid"])
calls = sum(size * n for size, n, _ in printed) - monitored
assert monitored_seen == monitored, monitored_seen
executed = seen["collective"]
for kind, numbers in seen.items():
    assert set(numbers.values()) == {1} and len(numbers) == calls, (kind, len(numbers), calls)
    assert numbers == executed, kind
for rank in range(4):
    assert threads[rank, "submit"] == threads[rank, "wait"] and len(threads[rank, "submit"]) == 1, threads
    assert not threads[rank, "submit"] & threads[rank, "collective"], threads
print(f"{calls} calls: each submitted by the program's thread, executed by another, awaited by the first")
PY

# Rank 0 submits more than its two pool threads can take, rank 1 nothing: what was submitted and never executed
# is told apart from what was begun and never returned.
cat >"$work/stuck.py" <<'PY'
import os, sys, time
import torch, torch.distributed as dist, torch.multiprocessing as mp

def run(rank, port):
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    dist.all_reduce(torch.ones(4))
    if rank == 0:
        works = [dist.all_reduce(torch.ones(4), async_op=True) for _ in range(5)]
    time.sleep(1 + rank)  # rank 1 is there as long as rank 0 waits for it
    os._exit(0)

if __name__ == "__main__":
    mp.spawn(run, args=(int(sys.argv[1]),), nprocs=2)
PY
equal "$(status "$cox" observe -o "$work/stuck" -- timeout 150 /usr/bin/python3 "$work/stuck.py" "$(free_port)")" 0 \
  "exit status of a job that leaves work behind"
equal "$(status "$cox" export "$work/stuck" -o "$work/stuck.json")" 0 "exit status of export"
/usr/bin/python3 - "$work/stuck.json" <<'PY'
import json, sys
events = [e for e in json.load(open(sys.argv[1]))["traceEvents"] if e.get("pid") == 0]
submitted = sorted(e["args"]["sequence"] for e in events if e.get("cat") == "submit")
begun = sorted(e["args"]["sequence"] for e in events if e.get("cat") == "collective")
stuck = sorted(e["args"]["sequence"] for e in events if e.get("cat") == "collective" and e["ph"] == "B")
assert submitted == [0, 1, 2, 3, 4, 5], submitted
assert begun == [0, 1, 2] and stuck == [1, 2], (begun, stuck)
print("begun and never returned:", stuck, "submitted and never begun:", sorted(set(submitted) - set(begun)))
PY
