#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Phases of an unmodified DDP script with gradient accumulation, evaluation and forked data-loader workers: as many
# of each kind as the program counted, and the result to the last digit as without us. With `wheel`: of the same PyTorch, laid out and
# named as a wheel is, where only a file beside its libraries tells the version.
. "$(dirname "$0")/shell.sh"
need_torch
unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
job=(timeout 150 /usr/bin/python3 "$source_dir/tests/e2e/torch_phases.py")
if [ "${1-}" = wheel ]; then
  /usr/bin/python3 - "$work/torch" <<'PY'
import importlib.util, os, pathlib, re, shutil, sys
to = pathlib.Path(sys.argv[1])
package = pathlib.Path(importlib.util.find_spec("torch").origin).parent
named = pathlib.Path(os.path.realpath(package / "lib/libtorch_cpu.so")).name
suffix = re.fullmatch(r"libtorch_cpu\.so(\.\d+\.\d+)(?:\.\d+)*", named)[1].encode()
(to / "lib").mkdir(parents=True)
shutil.copy(package / "version.py", to)
stem = b"libtorch_cpu.so"
for library in sorted((package / "lib").glob("*.so")):  # whose name for it gets shorter, with the room it had
    data = library.read_bytes() if library.exists() else b""
    if stem + suffix + b"\0" in data:
        name = library.name if library.name == stem.decode() else library.name + suffix.decode()
        (to / "lib" / name).write_bytes(data.replace(stem + suffix + b"\0", stem + b"\0" * (len(suffix) + 1)))
PY
  export LD_LIBRARY_PATH=$work/torch/lib
  loaded=$(/usr/bin/python3 -c "import torch; print('$work/torch/lib/libtorch_cpu.so' in open('/proc/self/maps').read())")
  equal "$loaded" True "the library of the wheel is the one that is loaded"
fi
equal "$(status "${job[@]}" "$(free_port)")" 0 "exit status without cox"
sort "$work/out" >"$work/plain"
equal "$(status "$cox" observe -o "$work/run" -- "${job[@]}" "$(free_port)")" 0 "exit status under cox"
sort "$work/out" >"$work/printed"
diff "$work/plain" "$work/printed" || fail "the output differs"
equal "$(status "$cox" diagnose "$work/run" --json)" 0 "exit status of diagnose"
cp "$work/out" "$work/diagnosis.json"
equal "$(status "$cox" export "$work/run" -o "$work/trace.json")" 0 "exit status of export"
/usr/bin/python3 - "$work/diagnosis.json" "$work/trace.json" "$work/printed" <<'PY'
import collections, json, re, sys
d, trace = (json.load(open(p)) for p in sys.argv[1:3])
r = d["result"]
printed = {int(m[1]): {k: int(v) for k, v in re.findall(r"([a-z_ ]+) = (\d+)", m[2].split(", loss")[0])}
           for m in re.finditer(r"rank (\d+): (.*)", open(sys.argv[3]).read())}
assert sorted(printed) == [0, 1], printed
assert r["coverage"] == 1.0 and not d["warnings"], (r["coverage_detail"], d["warnings"])
assert {x["rank"]: x["steps"] for x in r["ranks"]} == {k: v["steps"] for k, v in printed.items()}, r["ranks"]
for rank, said in printed.items():
    said = {k.strip(): v for k, v in said.items()}
    events = [e for e in trace["traceEvents"] if e["pid"] == rank]
    n = collections.Counter(e["name"] for e in events if e.get("cat") == "phase" and e.get("dur", 0) > 0)
    n["no_sync"] = sum(e.get("args", {}).get("no_sync", False) for e in events)
    for kind in ("forward", "backward", "no_sync", "evaluation", "optimizer", "data"):
        assert n[kind] == said[kind], (rank, kind, n, said)
    assert sum(e["name"] == "wait: gradient sync" for e in events) == said["steps"]
    synced = sum(e["args"]["bytes"] for e in events if e.get("cat") == "collective" and e["name"] == "AllReduce")
    assert synced == said["steps"] * said["gradient bytes"], (synced, said)
    print(f"rank {rank}: as it counted:", dict(n))
PY
[ "${1-}" != wheel ] || exit 0

# Trainings in eight threads at once: the results as without us, and the steps of one of them.
threads=("${job[@]}" "$(free_port)" 8)
equal "$(status "${threads[@]}")" 0 "exit status of threads without cox"
sort "$work/out" >"$work/plain"
threads=("${job[@]}" "$(free_port)" 8)
equal "$(status "$cox" observe -o "$work/threads" -- "${threads[@]}")" 0 "exit status of threads under cox"
sort "$work/out" >"$work/printed"
diff "$work/plain" "$work/printed" || fail "the output of threads differs"
equal "$(status "$cox" diagnose "$work/threads" --json)" 0 "exit status of diagnose"
/usr/bin/python3 - "$work/out" "$work/printed" <<'PY'
import json, re, sys
d = json.load(open(sys.argv[1]))
told = [int(n) for n in re.findall(r"steps of each = (\d+)", open(sys.argv[2]).read())]
found = [r["steps"] for r in d["result"]["ranks"]]
assert all(0.8 * n <= f <= n for n, f in zip(told, found, strict=True)), (told, found)
assert any("train at the same time" in w for w in d["warnings"]), d["warnings"]
print("threads: steps of one training", told, "found", found)
PY
