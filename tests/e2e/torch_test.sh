#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# An unmodified DistributedDataParallel script: the steps found on each rank are the steps that it printed.
. "$(dirname "$0")/shell.sh"
need python3
need_torch
code=$(status "$cox" observe -o "$work/r2" -- /usr/bin/python3 "$source_dir/examples/torch_ddp.py" --ranks 4 --steps 60)
cat "$work/out" "$work/err"
equal "$code" 0 "exit status under cox"
cp "$work/out" "$work/printed"
equal "$(status "$cox" diagnose "$work/r2" --json)" 0 "exit status of diagnose"
cp "$work/out" "$work/diagnosis.json"
/usr/bin/python3 - "$work/diagnosis.json" "$work/printed" <<'PY'
import json, re, sys
r = json.load(open(sys.argv[1]))["result"]
printed = {int(m[1]): int(m[2]) for m in re.finditer(r"rank (\d+): steps = (\d+)", open(sys.argv[2]).read())}
found = {x["rank"]: x["steps"] for x in r["ranks"]}
assert len(printed) == 4 and found == printed, (found, printed)
assert r["coverage"] == 1.0, (r["coverage"], r["coverage_detail"])
print("steps on each rank as printed:", found)
PY
/usr/bin/python3 "$source_dir/tests/e2e/forecast_check.py" "$cox" "$work/r2" 4 run
