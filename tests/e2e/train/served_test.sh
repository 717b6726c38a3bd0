#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# served_test.sh BUILD SOURCE LIBRARY: jobs with a server over a library: `cox learn` comes to the same losses along the updates that they
# record; targets are reached; a process that is killed ends the job, named.
. "$(dirname "$0")/../shell.sh"
library=$1
need /usr/bin/python3
if [ "$library" = gloo ]; then need pgrep; else need mpirun."$library"; fi
[ -x "$build/cox-train-$library" ] || skip "cox-train-$library was not built"
cd "$work"
job=$source_dir/examples/scenarios/learn-uneven.toml
launch=(mpirun."$library")
[ "$library" != openmpi ] || launch+=(--oversubscribe --mca mpi_yield_when_idle 1)
over=(--procs 4 --transport "$library")
[ "$library" = gloo ] || over+=(--launch "${launch[*]} -n 4")

losses() { /usr/bin/python3 -c 'import json, sys
for p in json.load(open(sys.argv[1]))["result"]["points"]: print(p["version"], p["samples"], p["loss"])' "$1"; }

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

# rank 1 is killed, or stands still: the job ends in time and says so
cat >struck <<'END'
#!/bin/sh
"$@" &
echo $! >>pids
[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ] && sleep 1 && kill -s "$(cat signal)" $!
wait $!
END
chmod +x struck
over=(--procs 2 --transport "$library")
[ "$library" = gloo ] || over+=(--launch "${launch[*]} -n 2 ./struck")
export TMPDIR=$work # where Gloo's ranks meet: their command lines have it
for signal in STOP KILL; do
  echo $signal >signal
  : >pids
  if [ "$library" = gloo ]; then
    (
      sleep 1
      pgrep -f "cox-train-gloo [01] $work/" >pids
      kill -s $signal "$(pgrep -f "cox-train-gloo 1 $work/")"
    ) &
  fi
  code=$(status timeout 60 "$cox" train "$job" "${over[@]}" --policy asynchronous --steps 1000000 \
    --problem mlp,dimension=64,hidden=256 --patience 2)
  equal "$code" 4 "exit status of a process with $signal: $(cat err)"
  grep -q 'cox: .*.train-00[35].' err || fail "not named: $(cat err)"
  for _ in $(seq 100); do
    left=$(while read -r pid; do [ ! -e "/proc/$pid/exe" ] || echo "$pid"; done <pids)
    [ -n "$left" ] || break
    sleep 0.1
  done
  equal "$left" "" "processes that are left"
done
