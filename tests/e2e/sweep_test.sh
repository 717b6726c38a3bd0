#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# sweep_test.sh BUILD SOURCE: a sweep over four processes of mpirun, killed with SIGKILL while it works, started again:
# no finished point is computed twice, and the result has the bytes of an uninterrupted run of one process.
. "$(dirname "$0")/shell.sh"
need mpirun.openmpi

cat >"$work/base.toml" <<'TOML'
name = "bsp"
[cluster]
nodes = 64
devices_per_node = 1
nic = { latency = "1us", bandwidth = "50GB/s" }
[job]
workload = "collective"
steps = 400
compute = "10ms"
[job.collective]
kind = "all-reduce"
algorithm = "ring"
bytes = "8KiB"
[[noise]]
name = "jitter"
law = "gaussian"
cv = 0.05
TOML
{
  echo 'scenario = "base.toml"'
  echo '[grid]'
  echo "seed = [$(seq -s, 1 200)]"
} >"$work/sweep.toml"

finished() { cat "$work"/result.json.points/*.jsonl 2>/dev/null | grep -c '"outcome"' || true; }

equal "$(status "$cox" simulate --sweep "$work/sweep.toml" -o "$work/alone.json")" 0 "exit status of one process"
job=(mpirun.openmpi --oversubscribe -n 4 "$cox" simulate --sweep "$work/sweep.toml" --threads 1 -o "$work/result.json")
# A session of its own, so that all of it can be killed by the id of the session that this script made.
setsid "${job[@]}" >"$work/first.out" 2>&1 &
launched=$!
for _ in $(seq 1 3000); do
  [ "$(finished)" -ge 8 ] && break
  sleep 0.02
done
for process in $(ps -o pid= -s "$launched"); do
  kill -KILL "$process" 2>/dev/null || true
done
wait "$launched" 2>/dev/null || true
before=$(finished)
[ "$before" -ge 8 ] || { cat "$work/first.out"; fail "only $before points were finished before the kill"; }
if [ -e "$work/result.json" ]; then
  echo "the sweep was done before it could be killed ($before points): the resume is tested with one journal cut short"
  rm "$work/result.json"
  head -n 3 "$work/result.json.points/rank-2.jsonl" >"$work/cut" && mv "$work/cut" "$work/result.json.points/rank-2.jsonl"
  before=$(finished)
fi
equal "$(status timeout 120 "${job[@]}")" 0 "exit status of the second start"
cat "$work/err"
cmp "$work/result.json" "$work/alone.json" || fail "the result differs from one that was not interrupted"
equal "$(finished)" 200 "points in the journals (more would be computed twice)"
grep -q '200 points: ' "$work/err" || fail "no word about the points"
found=$(sed -n 's/.*200 points: \([0-9]*\) found.*/\1/p' "$work/err" | sort -n | head -n 1)
[ "$found" -ge "$before" ] || fail "a process found $found points, expected at least the $before of the first start"

# Its own result is not overwritten unasked.
equal "$(status "$cox" simulate --sweep "$work/sweep.toml" -o "$work/alone.json")" 3 "exit status where the result exists"
