#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Faults of a real job that whole steps hide: before one all-reduce of four, in turn, every tenth step.
# usage: ... quiet|bucket|rotating|alternate|pause
. "$(dirname "$0")/shell.sh"
need python3
[ -x "$build/examples/gloo_train" ] || skip "gloo_train was not built (package libgloo-dev)"
fault=$1
job=("$build/examples/gloo_train" --ranks 4 --steps 100)
case $fault in
  quiet) job+=(--buckets 4) ;;
  bucket) job+=(--buckets 4 --fault compute --slow-rank 2 --fault-bucket 1) ;;
  rotating) job+=(--buckets 4 --fault rotating --fault-bucket 1) ;;
  alternate) job+=(--buckets 4 --fault alternate --slow-rank 1 --fault-bucket 1) ;;
  pause) job+=(--fault pause --slow-rank 1 --host-wait-ms 300) ;;
  *) fail "unknown fault $fault" ;;
esac
equal "$(status "$cox" observe -o "$work/run" -- "${job[@]}")" 0 "exit status of the job"
"$cox" diagnose "$work/run" --json >"$work/diagnosis.json" 2>"$work/err" || fail "diagnose: $(cat "$work/err")"
said=$(python3 - "$work/diagnosis.json" <<'PY'
import json, sys
result = json.load(open(sys.argv[1]))["result"]
for f in result["findings"]:
    where = [f"{p['number']}/{p['of']}" for p in f["positions"]]
    pause = f["pauses"] and f"{f['pauses']['period_steps']}:{f['pauses']['phase']}"
    print(f["kind"], f["ranks"], *where, *([pause] if pause else []))
PY
)
case $fault in
  quiet) equal "$said" "" "findings" ;;
  bucket) equal "$said" "slow_rank [2] 2/4" "findings" ;;
  rotating) equal "$said" "rotating_straggler [0, 1, 2, 3] 2/4" "findings" ;;
  alternate) equal "$said" "rotating_straggler [1, 3] 2/4" "findings" ;;
  pause) equal "$said" "periodic_pause [1] 10:9" "findings" ;;
esac
