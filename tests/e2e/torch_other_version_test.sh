#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A PyTorch whose named ranges we do not know the layout of: steps, synchronised passes and what the reducer shows
# of the others are recorded, optimizer and data as one span; said once. Made by renaming, in a copy of the guest,
# the library whose versions it knows.
. "$(dirname "$0")/shell.sh"
need sed
need_torch
unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
mkdir "$work/cox"
cp "$cox" "$build"/libcox-*.so "$work/cox"
sed -i 's/libtorch_cpu\.so\./libtorch_odd.so./' "$work/cox/libcox-gloo.so"
cmp -s "$build/libcox-gloo.so" "$work/cox/libcox-gloo.so" && fail "the guest names no library"
cox=$work/cox/cox
job=(timeout 150 /usr/bin/python3 "$source_dir/tests/e2e/torch_phases.py" "$(free_port)")
equal "$(status "$cox" observe -o "$work/run" -- "${job[@]}")" 0 "exit status under cox"
cp "$work/out" "$work/printed"
equal "$(status "$cox" diagnose "$work/run" --json)" 0 "exit status of diagnose"
cp "$work/out" "$work/diagnosis.json"
equal "$(status "$cox" export "$work/run" -o "$work/trace.json")" 0 "exit status of export"
/usr/bin/python3 - "$work/diagnosis.json" "$work/trace.json" "$work/printed" <<'PY'
import collections, json, re, sys
d, trace = (json.load(open(p)) for p in sys.argv[1:3])
r = d["result"]
said = [str(w) for w in d["warnings"]]
assert len(said) == 1 and "none of 1.13 to 2.14" in said[0] and "(and 1 more process)" in said[0], said
printed = {int(m[1]): {k: int(v) for k, v in re.findall(r"(\w+) = (\d+)", m[2])}
           for m in re.finditer(r"rank (\d+): (.*)", open(sys.argv[3]).read())}
assert {x["rank"]: x["steps"] for x in r["ranks"]} == {k: v["steps"] for k, v in printed.items()}, r["ranks"]
assert r["coverage"] == 1.0, r["coverage_detail"]
for rank, said in printed.items():
    phases = [e for e in trace["traceEvents"] if e["pid"] == rank and e.get("cat") == "phase" and e.get("dur", 0) > 0]
    n = collections.Counter(e["name"] for e in phases)
    n["no_sync"] = sum(e["args"].get("no_sync", False) for e in phases)
    assert n["forward"] == said["steps"], (n, said)
    assert n["backward"] == said["backward"] and n["no_sync"] == said["no_sync"], (n, said)
    assert n["evaluation"] == 4, n  # those that left gradients on
    assert n["phase"] == said["steps"], n  # optimizer and data together
    assert n["optimizer"] == n["data"] == 0, n
    print(f"rank {rank}:", dict(n))
PY
