#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# train_test.sh BUILD SOURCE LIBRARY: `cox train` over a library has the bits of threads and of `cox learn` along the same updates; observed, no
# call is missing; a process that stands still is named.
. "$(dirname "$0")/../shell.sh"
library=$1
. "$(dirname "$0")/processes.sh"

# train PROCS WORDS...: over the library
train() {
  local procs=$1
  shift
  over "$procs"
  equal "$(status timeout 100 "$cox" train "$job" "${over[@]}" --json "$@")" 0 \
    "exit status of $procs processes: $(cat err)"
}

what=(--problem mlp,dimension=8,hidden=16 --optimizer adam,rate=0.01 --batch 4)
equal "$(status "$cox" train "$job" --procs 1 --steps 30 --json "${what[@]}" --record updates.csv)" 0 "exit status of threads"
losses out >of_threads
equal "$(wc -l <of_threads)" 7 "losses"
equal "$(status "$cox" learn updates.csv --policies synchronous --json "${what[@]}")" 0 "exit status of learn"
losses out | diff of_threads - || fail "cox learn has other losses"
hash=$("$cox" train "$job" --procs 1 --steps 30 --json "${what[@]}" | grep parameters_hash)
for procs in 1 2 4; do
  train "$procs" --steps 30 "${what[@]}"
  losses out | diff of_threads - || fail "$procs processes have other losses"
  equal "$(grep parameters_hash out)" "$hash" "parameters of $procs processes"
  equal "$(json out 'all(x["sent_bytes"] == x["scheduled_bytes"] for x in r["ranks"])')" true "bytes of $procs processes"
done
for layout in zero-1 zero-2 zero-3; do
  train 4 --steps 30 --layout $layout "${what[@]}"
  equal "$(grep parameters_hash out)" "$hash" "parameters by $layout"
  equal "$(json out 'sum(x["optimizer_bytes"] for x in r["ranks"]) - 8 * r["parameters"]')" 0 "optimizer's state by $layout"
  equal "$(json out 'all(x["sent_bytes"] == x["scheduled_bytes"] > 0 for x in r["ranks"])')" true "bytes of $layout"
  equal "$(json out 'all(x["memory_bytes"] == x["planned_memory_bytes"] > 0 for x in r["ranks"])')" true "memory of $layout"
done
for policy in local-sgd,local-steps=5 diloco,local-steps=5 fedprox,local-steps=5 scaffold,local-steps=5 \
  post-local,synchronous-steps=10,local-steps=5; do
  rm -f updates.csv
  equal "$(status "$cox" train "$job" --procs 1 --steps 30 --policy $policy --json "${what[@]}" --record updates.csv)" 0 "exit status by $policy"
  hash=$(grep parameters_hash out)
  losses out >of_threads
  equal "$(status "$cox" learn updates.csv --policies $policy --json "${what[@]}")" 0 "exit status of learn by $policy: $(cat err)"
  losses out | diff of_threads - || fail "cox learn has other losses by $policy"
  train 4 --steps 30 --policy $policy "${what[@]}"
  equal "$(grep parameters_hash out)" "$hash" "parameters by $policy"
  equal "$(json out 'all(x["sent_bytes"] == x["scheduled_bytes"] > 0 for x in r["ranks"])')" true "bytes by $policy"
  equal "$(json out 'all(x["memory_bytes"] == x["planned_memory_bytes"] > 0 for x in r["ranks"])')" true "memory by $policy"
done
for sum in ring double-binary-tree hierarchical,group=2; do
  train 4 --steps 10 --all-reduce $sum
  equal "$(json out 'all(x["sent_bytes"] == x["scheduled_bytes"] > 0 for x in r["ranks"])')" true "bytes of $sum"
  hash=$(grep parameters_hash out)
  equal "$("$cox" train "$job" --procs 4 --steps 10 --all-reduce $sum --json | grep parameters_hash)" "$hash" "threads by $sum"
done

over 4
# observed: an all-reduce and two phases a step, nothing missing
equal "$(status timeout 100 "$cox" observe -o run -- "$cox" train "$job" "${over[@]}" \
  --steps 40 --problem mlp,dimension=32,hidden=64)" 0 "exit status, observed: $(cat err)"
equal "$(status "$cox" diagnose run --json)" 0 "exit status of diagnose"
equal "$(json out 'r["coverage"]')" 1.0 "coverage"
equal "$(json out 'r["steps"]["count"], r["steps"]["source"], r["steps"]["collectives_per_step"]')" \
  "(40, 'marks', 1)" "steps"
equal "$(json out 'len(r["ranks"])')" 4 "ranks"
equal "$(status timeout 100 "$cox" observe -o sharded -- "$cox" train "$job" "${over[@]}" \
  --layout zero-1 --steps 40)" 0 "exit status, observed, zero-1: $(cat err)"
equal "$(status "$cox" diagnose sharded --json)" 0 "exit status of diagnose, zero-1"
equal "$(json out 'r["coverage"]')" 1.0 "coverage, zero-1"
equal "$(json out 'r["steps"]["collectives_per_step"]')" 2 "collectives of a step, zero-1"
# two layers, four workers a process: each leaf gathers both, and both are reduced
equal "$(status timeout 100 "$cox" observe -o parameters -- "$cox" train "$job" "${over[@]}" \
  --layout zero-3 --steps 40 --problem mlp,dimension=32,hidden=64)" 0 "exit status, observed, zero-3: $(cat err)"
equal "$(status "$cox" diagnose parameters --json)" 0 "exit status of diagnose, zero-3"
equal "$(json out 'r["coverage"]')" 1.0 "coverage, zero-3"
equal "$(json out 'r["steps"]["collectives_per_step"]')" 10 "collectives of a step, zero-3"

# rank 1 stands still, or is killed: the job says so
for signal in STOP KILL; do
  strike $signal
  case $signal-$library in
    STOP-*) said='rank 0 waited 2.00 s for rank 1 to .* message [0-9]* of generation 0 .train-003.' ;;
    KILL-gloo) # whoever says it first: rank 0, or the program that started both
      said='\(rank 0 has lost rank 1, which was to .* message [0-9]* of generation 0\|rank 0 waited 2.00 s for rank 1 to .*\|rank 1 ended with status 137, and .*\) .train-003.' ;;
    KILL-*) said='.train-00[35].' ;; # the launcher ends the job, sooner than the other rank hears of it or not
  esac
  grep -q "cox: .*$said" err || fail "not named: $(cat err)"
done
