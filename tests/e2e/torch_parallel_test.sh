#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# torch_parallel_test.sh BUILD SOURCE WAY: fully_shard, a DeviceMesh, a compiled DDP model or no_sync, with rank 2
# slow: everything is seen, phases and groups as the program counted them, and rank 2 is named.
. "$(dirname "$0")/shell.sh"
need_torch
way=$1
unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo PYTHONWARNINGS=ignore
job=(timeout 300 /usr/bin/python3 "$source_dir/tests/e2e/torch_parallel.py" "$way" 2 "$(free_port)")
code=$(status "$cox" observe -o "$work/run" -- "${job[@]}")
if [ "$code" = 77 ]; then skip "$(sed -n 's/^SKIP: //p' "$work/out")"; fi
cat "$work/err"
equal "$code" 0 "exit status under cox"
cp "$work/out" "$work/printed"
equal "$(status "$cox" diagnose "$work/run" --json)" 0 "exit status of diagnose"
cp "$work/out" "$work/diagnosis.json"
equal "$(status "$cox" export "$work/run" -o "$work/trace.json")" 0 "exit status of export"
/usr/bin/python3 - "$work/diagnosis.json" "$work/trace.json" "$work/printed" <<'PY'
import collections, json, re, sys
d, trace = (json.load(open(p)) for p in sys.argv[1:3])
r = d["result"]
printed = {int(m[1]): dict(re.findall(r"(\w+) = (\S+?)(?:,|$)", m[2]))
           for m in re.finditer(r"rank (\d+): (.*)", open(sys.argv[3]).read())}
assert sorted(printed) == [0, 1, 2, 3], printed
assert r["coverage"] == 1.0 and not d["warnings"], (r["coverage_detail"], d["warnings"])
assert {x["rank"]: x["steps"] for x in r["ranks"]} == {k: int(v["steps"]) for k, v in printed.items()}, r["ranks"]
used = collections.defaultdict(set)  # communicator -> its members that ran a collective
for e in trace["traceEvents"]:
    if e.get("cat") == "collective":
        used[e["args"]["communicator"]].add(e["pid"])
want = {frozenset(range(4))} | {frozenset(map(int, g.split("."))) for g in printed[0].get("groups", "").split("/") if g}
assert {frozenset(v) for v in used.values()} == want and len(used) == len(want), (dict(used), want)
sizes = collections.Counter(c["size"] for c in r["communicators"] if c["collectives"])
assert sizes == collections.Counter(map(len, want)), (sizes, want)
for rank, said in printed.items():
    events = [e for e in trace["traceEvents"] if e["pid"] == rank and e.get("cat") == "phase" and e.get("dur", 0) > 0]
    n = collections.Counter(e["name"] for e in events)
    n["no_sync"] = sum(e["args"].get("no_sync", False) for e in events)
    for kind in ("forward", "backward", "no_sync", "evaluation", "optimizer"):
        assert kind not in said or n[kind] == int(said[kind]), (rank, kind, n, said)
named = [f["ranks"] for f in r["findings"]]
assert named and named[0] == [2], r["findings"]
print("rank 2 is named; as counted:", dict(n))
PY
