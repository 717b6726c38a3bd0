#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What cox diagnose says of real traces with known answers: data/traces/README.md of the test data.

usage: known_answers.py COX DATA     (DATA: the folder that holds traces/; COX_TEST_DATA overrides; absent: exit 77)
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

cox = os.path.realpath(sys.argv[1])
data = os.path.join(os.environ.get("COX_TEST_DATA") or sys.argv[2], "traces")
if not os.path.isdir(data):
    print(f"SKIP: no test data at {data}: set COX_TEST_DATA")
    sys.exit(77)
failures = []


def check(what, holds, got=None):
    if not holds:
        failures.append(what)
        print(f"FAIL {what}: got {got}")


def near(what, got, wanted, tolerance):
    check(what, got is not None and abs(got - wanted) <= tolerance, f"{got}, wanted {wanted} within {tolerance}")


def run(*arguments):
    return subprocess.run([cox, *arguments], capture_output=True, text=True, timeout=120, check=False)


def diagnose(*paths):
    """Results of all runs found, and what was said on the way. Files are copied into an empty folder."""
    with tempfile.TemporaryDirectory(prefix="cox-imports.") as work:
        for path in paths:
            shutil.copy(os.path.join(data, path), work)
        done = run("diagnose", "--json", "-v", work)
    check(f"{paths}: exit status", done.returncode == 0, (done.returncode, done.stderr))
    if done.returncode != 0:
        return [], done.stderr
    decoder, results, text = json.JSONDecoder(), [], done.stdout
    while text.strip():
        document, end = decoder.raw_decode(text.lstrip())
        results.append(document["result"])
        text = text.lstrip()[end:]
    return results, done.stderr


def only(*paths):
    results, said = diagnose(*paths)
    check(f"{paths}: one run", len(results) == 1, len(results))
    return (results[0] if results else {}), said


def bytedance():
    for name in ("trace-ST.csv", "trace-ST.parquet"):
        result, _ = only(f"bytedance-st/{name}")
        what = result.get("what_if_operations") or {}
        near(f"{name}: S", what.get("slowdown_ratio"), 1.178702, 1e-4)
        stages = {s["index"]: s for s in what.get("stages", [])}
        near(f"{name}: M_S", stages.get(3, {}).get("removed_ratio"), 1.219356, 1e-4)
        for stage, wanted in ((0, 0.998045), (1, 0.983056), (2, 0.982493), (3, 1.232256)):
            near(f"{name}: stage {stage}", stages.get(stage, {}).get("slowdown_ratio"), wanted, 1e-4)
        check(f"{name}: the cause is the stage", what.get("finding", {}).get("cause") == "stage_imbalance", what)
        types = {t["name"]: t["slowdown_ratio"] for t in what.get("types", [])}
        near(f"{name}: forward-compute", types.get("forward-compute"), 1.087499, 1e-4)
        near(f"{name}: backward-compute", types.get("backward-compute"), 1.074156, 1e-4)
        check(f"{name}: four stages", len(stages) == 4, stages)
    _, said = diagnose("bytedance-st/trace-ST.csv", "bytedance-st/trace-ST.parquet", "bytedance-st/timeline-ST.json.gz")
    check("ST: the copy is named", "holds the same as" in said, said)


def epoch():
    for size, parallel, serial in ((1, 99.9256, 100.0), (2, 99.3783, 99.8424), (4, 97.3500, 99.2035)):
        stem = f"epoch-paraver/epoch_{size}proc"
        result, _ = only(f"{stem}.prv.gz", f"{stem}.pcf", f"{stem}.row")
        found = result.get("efficiencies") or {}
        near(f"epoch {size}: parallel", found.get("parallel_ratio"), parallel / 100, 1e-3)
        near(f"epoch {size}: serialisation", found.get("serialisation_ratio"), serial / 100, 1e-3)


def dlrm():
    folder = os.path.join(data, "dlrm-kineto-4of8")
    files = [f"dlrm-kineto-4of8/{f}" for f in sorted(os.listdir(folder)) if f.endswith(".json")]
    result, _ = only(*files)
    coverage = result["coverage_detail"]
    check("dlrm: 4 of 8", (coverage["ranks_seen"], coverage["ranks_expected"]) == (4, 8), coverage)
    with tempfile.TemporaryDirectory(prefix="cox-imports.") as work:
        for path in files:
            shutil.copy(os.path.join(data, path), work)
        said = " ".join(run("diagnose", "-q", "--all", work).stdout.split())
    check("dlrm: self-delay of those present", "rank 2 674" in said and "rank 2, 508" in said, said)
    check("dlrm: names nobody", result["findings"] == [], result["findings"])
    check("dlrm: says what follows", any("4 of 8" in s for s in result["cannot_tell"]), result["cannot_tell"])


def singles():
    for folder, _, files in sorted(os.walk(os.path.join(data, "kineto-single"))):
        for file in sorted(files):
            if file.startswith("LICENSE"):
                continue
            path = os.path.relpath(os.path.join(folder, file), data)
            result, _ = only(path)
            check(f"{path}: names nobody", result.get("findings") == [], result.get("findings"))
            check(f"{path}: one rank", "one rank" in result.get("verdict", ""), result.get("verdict"))


def sampled():
    results, said = diagnose("kineto-single/hta/sampled_rank-0.json.gz", "kineto-single/hta/sampled_rank-1.json.gz")
    check("sampled: two of 128", [r["coverage_detail"]["ranks_expected"] for r in results] == [128], said)
    check("sampled: not matched by position", "not matched" in said, said)


def series():
    result, _ = only("megatron-steps/gpt3_15b_8t_a100_iteration_time.csv")
    found = result.get("time_structure") or {}
    check("megatron: 13 long steps", found.get("long_count") == 13, found)
    back = found.get("recurrence") or {}
    check("megatron: they come back", (back.get("shortest_steps"), back.get("longest_steps")) == (3600, 3900), back)
    check("megatron: no change point", found.get("changes") == [], found.get("changes"))
    check("megatron: names nobody", result["findings"] == [], result["findings"])
    check("megatron: a global event to look at",
          any(r["lever"] == "checkpoint_policy" for r in result["remedies"]), result["remedies"])


def counts():
    """Records read against an independent count."""
    result, said = only("nccl-profiler/allreduce-1node-4ranks.jsonl")
    check("nccl: kernels", result["sources"][0]["records"] == 4, result["sources"])
    check("nccl: every line accounted for", "138 states, 137 events, 8 lifecycle records and 4 kernels" in said, said)
    result, _ = only("chakra-et/chakra.0.et")
    check("chakra: 3,664 nodes", result["sources"][0]["records"] == 3664, result["sources"])
    result, _ = only("chakra-et/pytorch-et-1.0.2-chakra.0.0.4.json")
    check("chakra JSON of PyTorch: 263 nodes", result["sources"][0]["records"] == 263, result["sources"])
    result, _ = only("pytorch-et/resnet_2gpu_et-1.1.0.json.gz")
    check("PyTorch ET: 14,392 nodes", result["sources"][0]["records"] == 14392, result["sources"])
    for meta, ranks in (("testbgp", 7), ("testtrace", 4)):
        folder = os.path.join(data, "dumpi-sst")
        files = [f"dumpi-sst/{f}" for f in sorted(os.listdir(folder)) if f.startswith(meta) and not f.endswith(".map")]
        result, _ = only(*files)
        check(f"{meta}: {ranks} ranks", result["coverage_detail"]["ranks_seen"] == ranks, result["coverage_detail"])


def everything():
    done = run("diagnose", "--all", data)
    check("the whole folder is diagnosed", done.returncode == 0, done.stderr)
    again = run("diagnose", "--all", "--threads", "1", data)
    check("the same for any number of threads", again.stdout == done.stdout)
    check("no crash, no bug", "[cli-008]" not in done.stderr, done.stderr)


for part in (bytedance, epoch, dlrm, singles, sampled, series, counts, everything):
    part()
print(f"{len(failures)} failures")
sys.exit(1 if failures else 0)
