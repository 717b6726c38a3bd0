#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tensor_test.sh BUILD SOURCE LIBRARY: a network whose layers are cut into slices has, over a library, the bits of one process with the unsplit model, beside data
# parallelism and without, with the bytes and the memory of its formulas; it reaches its target; observed, nothing is missing and a slow slice is named; misuse is.
. "$(dirname "$0")/../shell.sh"
library=$1
. "$(dirname "$0")/processes.sh"

cat >job.toml <<'END_OF_JOB'
[cluster]
preset = "cloud-100g"
nodes = 2
devices_per_node = 4
scale_up.bandwidth = "300GB/s"
[job]
workload = "training"
layout.tensor = 4
layout.data = 2
[job.layers]
count = 4
forward = "1ms"
backward = "2ms"
gradients = "1MB"
activations = "1MB"
END_OF_JOB
what=(--problem mlp,dimension=8,hidden=32,layers=3,blocks=4 --optimizer adam,rate=0.01 --batch 4)

equal "$(status "$cox" train job.toml --procs 1 --steps 20 --json "${what[@]}")" 0 "exit status of one process: $(cat err)"
hash=$(grep parameters_hash out)
json out '[p["loss"] for p in r["points"]]' >of_one
alike() { # PROCS WORDS...: the bits of `hash` and `of_one`, the bytes and memory of the formulas
  local procs=$1
  shift
  over "$procs"
  equal "$(status timeout 100 "$cox" train job.toml "${over[@]}" --layout tensor --steps 20 --json "${what[@]}" "$@")" 0 "exit status of $*: $(cat err)"
  equal "$(grep parameters_hash out)" "$hash" "parameters of $procs $*"
  [[ " $* " == *" --resume "* ]] || json out '[p["loss"] for p in r["points"]]' | diff of_one - || fail "other losses of $procs $*"
  equal "$(json out 'all(x["sent_bytes"] == x["scheduled_bytes"] > 0 for x in r["ranks"])')" true "bytes of $procs $*"
  equal "$(json out 'all(x["memory_bytes"] == x["planned_memory_bytes"] > 0 for x in r["ranks"])')" true "memory of $procs $*"
  equal "$(json out 'r["tensor"]["unsplit_bits"]')" true "bits that are told of $procs $*"
}
# one group of four; two of two, whose scenario has two replicas, too
alike 4
alike 4 --set job.layout.tensor=2,cluster.devices_per_node=2
alike 2 --set job.layout.tensor=2,cluster.devices_per_node=2

# saved by one group of four, gone on from by two of two
over 4
equal "$(status timeout 100 "$cox" train job.toml "${over[@]}" --layout tensor --steps 12 --checkpoint saved --checkpoint-every 5 "${what[@]}")" 0 "exit status of a job that saves: $(cat err)"
alike 4 --set job.layout.tensor=2,cluster.devices_per_node=2 --checkpoint saved --resume

# a degree that divides no blocks: processes agree, and it is said
over 3
equal "$(status timeout 100 "$cox" train job.toml "${over[@]}" --layout tensor --steps 20 --json --problem mlp,dimension=8,hidden=33,layers=3 \
  --set job.layout.tensor=3,cluster.devices_per_node=3)" 0 "exit status of three slices: $(cat err)"
equal "$(json out 'r["tensor"]["unsplit_bits"]')" false "bits that are told of three"

over 4
equal "$(status timeout 100 "$cox" train job.toml "${over[@]}" --layout tensor --batch 64 --steps 300 --json --problem mlp,dimension=4,hidden=32,layers=3,pairs=1,blocks=4 \
  --optimizer adam,rate=0.01)" 0 "exit status of a longer job: $(cat err)"
equal "$(json out 'r["points"][-1]["accuracy"] > 0.9')" true "accuracy that is reached: $(json out 'r["points"][-1]')"

# observed: nothing is missing; who sleeps is named
for slow in 0 2; do
  equal "$(status timeout 100 "$cox" observe -o "slow-$slow" -- "$cox" train job.toml "${over[@]}" --layout tensor --steps 40 "${what[@]}" \
    --inject rank=$slow,delay=0.02)" 0 "exit status, observed: $(cat err)"
  equal "$(status "$cox" diagnose "slow-$slow" --json)" 0 "exit status of diagnose: $(cat err)"
  equal "$(json out 'r["coverage"] == 1 and r["outcome"]')" named "outcome with rank $slow slow: $(json out 'r["verdict"]')"
  equal "$(json out '[f["rank"] for f in r["findings"]]')" "[$slow]" "who is named"
done

# misuse, in a line
refused() { # WHAT PROBLEM WORDS...
  local said=$1 problem=$2
  shift 2
  equal "$(status timeout 100 "$cox" train job.toml "${over[@]}" --layout tensor --problem "$problem" "$@")" 3 "exit status of $*: $(cat err)"
  grep -q "$said" err || fail "not named: $(cat err)"
}
refused '30 hidden cannot be cut into 4 equal slices' mlp,hidden=30
refused 'quadratic is not cut within its layers' quadratic
refused 'job.layout.pipeline is 2, too' mlp --set job.layout.pipeline=2,job.layout.data=1
over 3
refused '3 processes are no whole groups of 4 slices' mlp
