#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# served_test.sh BUILD SOURCE LIBRARY: jobs with a server over a library: `cox learn` comes to the same losses along the updates that they
# record; targets are reached; observed, a slow worker and a slow server are named; a process that is killed ends the job, named.
. "$(dirname "$0")/../shell.sh"
library=$1
. "$(dirname "$0")/processes.sh"
over 4

what=(--problem mlp,dimension=8,hidden=16 --optimizer sgd,rate=0.05 --batch 4)
for policy in asynchronous age-weighted bounded-wait,staleness=2 bounded-discard,staleness=4 backup,backups=2; do
  equal "$(status timeout 100 "$cox" train "$job" "${over[@]}" --policy $policy --steps 30 --json "${what[@]}" \
    --record "$policy.csv")" 0 "exit status by $policy: $(cat err)"
  equal "$(json out 'all(x["sent_bytes"] == x["scheduled_bytes"] > 0 for x in r["ranks"])')" true "bytes by $policy"
  equal "$(json out 'r["points"][-1]["loss"] < r["points"][0]["loss"]')" true "loss by $policy"
  losses out >of_processes
  equal "$(status "$cox" learn "$policy.csv" --policies $policy --json "${what[@]}")" 0 "exit status of learn by $policy: $(cat err)"
  losses out | diff of_processes - || fail "cox learn has other losses by $policy"
done

# observed, the messages between server and workers tell who is slow
for slow in 2 0; do
  equal "$(status timeout 100 "$cox" observe -o "slow-$slow" -- "$cox" train "$job" "${over[@]}" --policy asynchronous --steps 40 \
    "${what[@]}" --inject rank=$slow,delay=0.02)" 0 "exit status, observed: $(cat err)"
  equal "$(status "$cox" diagnose "slow-$slow" --json)" 0 "exit status of diagnose: $(cat err)"
  equal "$(json out 'r["coverage"] == 1 and r["outcome"]')" named "outcome with rank $slow slow: $(cat out)"
  equal "$(json out 'r["findings"][0]["rank"]')" $slow "who is named"
done

# rank 1 stands still, or is killed: the job says so
for signal in STOP KILL; do
  strike $signal --policy asynchronous
  grep -q 'cox: .*.train-00[35].' err || fail "not named: $(cat err)"
done
