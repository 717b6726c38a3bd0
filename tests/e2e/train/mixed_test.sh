#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# mixed_test.sh BUILD SOURCE LIBRARY: `cox train` in mixed precision over a library has the bits of threads and of `cox learn` along the same
# updates, and the bytes and the memory of its formulas, on every layout; observed, no call is missing and a slow process is named; killed and
# started again it ends with the bits, and the loss scale, of a job that was not interrupted.
. "$(dirname "$0")/../shell.sh"
library=$1
. "$(dirname "$0")/processes.sh"
need pgrep

what=(--problem mlp,dimension=8,hidden=16 --optimizer adam,rate=0.01 --batch 4 --json)
for policy in synchronous+bf16,master=yes synchronous+fp16,master=yes,loss-scale=1048576,dynamic=yes,growth-interval=5; do
  rm -f updates.csv
  equal "$(status "$cox" train "$job" --procs 1 --steps 30 --policy $policy "${what[@]}" --record updates.csv)" 0 "exit status of threads: $(cat err)"
  losses out >of_threads
  hash=$(json out 'r["parameters_hash"], r["loss_scale"], r["skipped_steps"]')
  [ $policy = synchronous+bf16,master=yes ] || equal "$(json out 'r["skipped_steps"] > 0')" true "steps that were skipped"
  equal "$(status "$cox" learn updates.csv --policies $policy "${what[@]}")" 0 "exit status of learn: $(cat err)"
  losses out | diff of_threads - || fail "cox learn has other losses under $policy"
  for layout in data-parallel zero-1 zero-2 zero-3; do
    over 4
    equal "$(status timeout 100 "$cox" train "$job" "${over[@]}" --steps 30 --policy $policy --layout $layout "${what[@]}")" 0 \
      "exit status by $layout: $(cat err)"
    losses out | diff of_threads - || fail "other losses by $layout under $policy"
    equal "$(json out 'r["parameters_hash"], r["loss_scale"], r["skipped_steps"]')" "$hash" "parameters by $layout"
    equal "$(json out 'all(x["sent_bytes"] == x["scheduled_bytes"] > 0 for x in r["ranks"])')" true "bytes by $layout"
    equal "$(json out 'all(x["memory_bytes"] == x["planned_memory_bytes"] > 0 for x in r["ranks"])')" true "memory by $layout"
  done
done

# observed: two layers, four workers a process, each leaf gathers both, and both are reduced
over 4
equal "$(status timeout 100 "$cox" observe -o run -- "$cox" train "$job" "${over[@]}" --policy synchronous+bf16,master=yes \
  --layout zero-3 --steps 40 --problem mlp,dimension=32,hidden=64 --inject rank=2,delay=0.03)" 0 "exit status, observed: $(cat err)"
equal "$(status "$cox" diagnose run --json)" 0 "exit status of diagnose"
equal "$(json out 'r["coverage"]')" 1.0 "coverage"
equal "$(json out 'r["steps"]["count"], r["steps"]["collectives_per_step"]')" "(40, 10)" "steps"
equal "$(status "$cox" diagnose run)" 0 "exit status of diagnose"
grep -q "Rank 2 sets the pace" out || fail "the slow process is not named: $(head -5 out)"

# killed six times, on 1 to 3 processes
steps=500
what=(--problem "mlp,dimension=16,hidden=32,seed=$$" --optimizer adam,rate=0.001 --steps $steps --json
  --policy synchronous+fp16,master=yes,loss-scale=16777216,dynamic=yes,growth-interval=50)
equal "$(status "$cox" train "$job" --procs 1 "${what[@]}")" 0 "exit status of threads: $(cat err)"
hash=$(json out 'r["parameters_hash"], r["loss_scale"], r["skipped_steps"]')
export TMPDIR=$work # where Gloo's ranks meet: their command lines have it
newest() { ls saved 2>/dev/null | grep -E '^[0-9]+$' | tail -n 1 || true; }
killed=0
layouts=(data-parallel zero-1 zero-2 zero-3)
for round in $(seq 40); do
  over $((round % 3 + 1))
  every=20
  [ "$killed" -lt 6 ] || every=1000
  "$cox" train "$job" "${over[@]}" "${what[@]}" --layout "${layouts[$((round % 4))]}" --checkpoint saved --checkpoint-every $every --resume \
    --patience 5 >out 2>err &
  started=$!
  if [ "$killed" -lt 6 ]; then
    before=$(newest)
    for _ in $(seq 2000); do
      [ "$(newest)" = "$before" ] && kill -0 $started 2>/dev/null || break
      sleep 0.005
    done
    sleep 0.00$((round * 7 % 20))
    victim=$(pgrep -f "^[^ ]*cox-train-$library .*($work|seed=$$)" | tail -n 1 || true)
    [ -z "$victim" ] || { kill -9 "$victim" 2>/dev/null && killed=$((killed + 1)); }
  fi
  code=0
  wait $started || code=$?
  [ "$code" != 0 ] || break
done
equal "$code" 0 "exit status in the end: $(cat err)"
equal "$(json out 'r["parameters_hash"], r["loss_scale"], r["skipped_steps"]')" "$hash" "parameters and scale after $killed were killed"
equal "$killed" 6 "processes killed before it was done"
