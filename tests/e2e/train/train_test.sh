#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# train_test.sh BUILD SOURCE LIBRARY: `cox train` over a library has the bits of threads and of `cox learn` along the same updates; observed, no
# call is missing; a process that stands still is named.
. "$(dirname "$0")/../shell.sh"
library=$1
need /usr/bin/python3
if [ "$library" = gloo ]; then need pgrep; else need mpirun."$library"; fi
[ -x "$build/cox-train-$library" ] || skip "cox-train-$library was not built"
cd "$work"
job=$source_dir/examples/scenarios/learn-uneven.toml
launch=(mpirun."$library")
[ "$library" != openmpi ] || launch+=(--oversubscribe --mca mpi_yield_when_idle 1)
# over PROCS [PROGRAM]: flags of so many processes; Gloo's program starts them itself
over() {
  over=(--procs "$1" --transport "$library")
  [ "$library" = gloo ] || over+=(--launch "${launch[*]} -n $*")
}

# losses FILE: what is compared, every digit
losses() { /usr/bin/python3 -c 'import json, sys
for p in json.load(open(sys.argv[1]))["result"]["points"]: print(p["version"], p["samples"], p["loss"])' "$1"; }
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
for policy in local-sgd,local-steps=5 diloco,local-steps=5 fedprox,local-steps=5; do
  equal "$(status "$cox" train "$job" --procs 1 --steps 30 --policy $policy --json "${what[@]}")" 0 "exit status by $policy"
  hash=$(grep parameters_hash out)
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

# rank 1 stands still, or is killed: the job ends in time, says so, and nobody is left
cat >struck <<'END'
#!/bin/sh
"$@" &
echo $! >>pids
[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ] && sleep 1 && kill -s "$(cat signal)" $!
wait $!
END
chmod +x struck
over 2 ./struck
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
  code=$(status timeout 60 "$cox" train "$job" "${over[@]}" --steps 1000000 --problem mlp,dimension=64,hidden=256 --patience 2)
  equal "$code" 4 "exit status of a process with $signal: $(cat err)"
  case $signal-$library in
    STOP-*) said='rank 0 waited 2.00 s for rank 1 to .* message [0-9]* of generation 0 .train-003.' ;;
    KILL-gloo) said='rank 0 has lost rank 1, which was to .* message [0-9]* of generation 0 .train-003.' ;;
    KILL-*) said='.train-00[35].' ;; # the launcher ends the job, sooner than the other rank hears of it or not
  esac
  grep -q "cox: .*$said" err || fail "not named: $(cat err)"
  for _ in $(seq 100); do
    left=$(while read -r pid; do [ ! -e "/proc/$pid/exe" ] || echo "$pid"; done <pids)
    [ -n "$left" ] || break
    sleep 0.1
  done
  equal "$left" "" "processes that are left"
  equal "$(wc -l <pids)" 2 "processes"
done
