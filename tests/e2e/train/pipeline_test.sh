#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pipeline_test.sh BUILD SOURCE LIBRARY: a network in stages over a library has the bits of one process that learns from the same micro-batches, under
# every schedule, with the bytes and the memory of its formulas; it reaches its target; observed, a slow stage is named; misuse is.
. "$(dirname "$0")/../shell.sh"
library=$1
. "$(dirname "$0")/processes.sh"

cat >job.toml <<'END_OF_JOB'
[cluster]
preset = "cloud-100g"
nodes = 4
devices_per_node = 1
[job]
workload = "training"
micro_batches = 4
layout.pipeline = 4
[job.layers]
count = 8
forward = "1ms"
backward = "2ms"
gradients = "1MB"
activations = "1MB"
END_OF_JOB
what=(--problem mlp,dimension=8,hidden=16,layers=7 --optimizer adam,rate=0.01)

# A worker's micro-batches are as many workers with one each.
equal "$(status "$cox" train job.toml --set job.layout.pipeline=1 --procs 1 --steps 20 --batch 2 --json "${what[@]}")" 0 \
  "exit status of one process: $(cat err)"
alike() { # PROCS WORDS...: the bits of `hash` and `of_one`, the bytes and memory of the formulas
  local procs=$1
  shift
  over "$procs"
  equal "$(status timeout 100 "$cox" train job.toml "${over[@]}" --steps 20 --json "${what[@]}" "$@")" 0 "exit status of $*: $(cat err)"
  equal "$(grep parameters_hash out)" "$hash" "parameters of $*"
  json out '[p["loss"] for p in r["points"]]' | diff of_one - || fail "other losses of $*"
  equal "$(json out 'all(x["sent_bytes"] == x["scheduled_bytes"] > 0 for x in r["ranks"])')" true "bytes of $*"
  equal "$(json out 'all(x["memory_bytes"] == x["planned_memory_bytes"] > 0 for x in r["ranks"])')" true "memory of $*"
}
hash=$(grep parameters_hash out)
json out '[p["loss"] for p in r["points"]]' >of_one
# one replica in four stages; two in two; one in two with chunks
for schedule in gpipe 1f1b zero-bubble; do
  alike 4 --layout pipeline --batch 8 --set job.schedule=$schedule
done
alike 4 --layout pipeline,recompute=1 --batch 8
alike 4 --layout pipeline --batch 4 --set job.layout.pipeline=2,job.layout.data=2,job.micro_batches=2
alike 2 --layout pipeline --batch 8 --set job.layout.pipeline=2,job.layout.data=1,cluster.nodes=2,job.schedule=interleaved,job.interleave=4

over 4
equal "$(status timeout 100 "$cox" train job.toml "${over[@]}" --layout pipeline --batch 64 --steps 300 --json --problem mlp,dimension=4,hidden=32,layers=3,pairs=1 \
  --optimizer adam,rate=0.01)" 0 "exit status of a longer job: $(cat err)"
equal "$(json out 'r["points"][-1]["accuracy"] > 0.9')" true "accuracy that is reached: $(json out 'r["points"][-1]')"

# observed: nothing is missing, all of them are told apart by their phases; who sleeps is named
for slow in 0 2 3; do
  equal "$(status timeout 100 "$cox" observe -o "slow-$slow" -- "$cox" train job.toml "${over[@]}" --layout pipeline --batch 8 --steps 40 "${what[@]}" \
    --inject rank=$slow,delay=0.02)" 0 "exit status, observed: $(cat err)"
  equal "$(status "$cox" diagnose "slow-$slow" --json)" 0 "exit status of diagnose: $(cat err)"
  equal "$(json out 'r["coverage"] == 1 and r["outcome"]')" named "outcome with rank $slow slow: $(json out 'r["verdict"]')"
  equal "$(json out '[f["rank"] for f in r["findings"]]')" "[$slow]" "who is named"
done

# misuse, in a line
refused() { # WHAT PROBLEM WORDS...
  local said=$1 problem=$2
  shift 2
  equal "$(status timeout 100 "$cox" train job.toml "${over[@]}" --layout pipeline --batch 8 --problem "$problem" "$@")" 3 "exit status of $*: $(cat err)"
  grep -q "$said" err || fail "not named: $(cat err)"
}
refused '3 layers cannot be cut into 4 stages of 1 chunks' mlp,layers=2
refused '8 samples of a worker are no 3 micro-batches' mlp,layers=7 --set job.micro_batches=3
refused "1 layers cannot be cut into 4 stages" logistic
refused 'quadratic is not cut into stages' quadratic
over 3
refused '3 processes are no whole pipelines of 4 stages' mlp,layers=7
