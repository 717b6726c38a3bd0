#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# resume_test.sh BUILD SOURCE LIBRARY: a process of a job is killed twenty times, wherever it is just then; started again by the same command the
# job ends with the bits of one that was not interrupted.
. "$(dirname "$0")/../shell.sh"
library=$1
need /usr/bin/python3
need pgrep
[ "$library" = gloo ] || need mpirun."$library"
[ -x "$build/cox-train-$library" ] || skip "cox-train-$library was not built"
cd "$work"
job=$source_dir/examples/scenarios/learn-uneven.toml
steps=20000
what=(--problem "mlp,dimension=16,hidden=32,seed=$$" --optimizer adam,rate=0.001 --steps "$steps" --json)
over() {
  over=(--procs "$1" --transport "$library")
  [ "$library" = gloo ] || {
    local launch=(mpirun."$library")
    [ "$library" != openmpi ] || launch+=(--oversubscribe --mca mpi_yield_when_idle 1)
    over+=(--launch "${launch[*]} -n $1")
  }
}
equal "$(status "$cox" train "$job" --procs 1 "${what[@]}")" 0 "exit status of threads: $(cat err)"
hash=$(json out 'r["parameters_hash"]')

# The ranks of this job have its seed on their command lines, or its folder where Gloo's meet.
export TMPDIR=$work
newest() { ls saved 2>/dev/null | grep -E '^[0-9]+$' | tail -n 1 || true; }
of_job() { pgrep -f "^[^ ]*cox-train-$library .*($work|seed=$$)"; }
killed=0
for round in $(seq 60); do
  over $((round % 3 + 1))
  every=20
  [ "$killed" -lt 20 ] || every=1000
  "$cox" train "$job" "${over[@]}" "${what[@]}" --checkpoint saved --checkpoint-every $every --resume --patience 5 \
    >out 2>err &
  started=$!
  if [ "$killed" -lt 20 ]; then
    # Not before it has saved something, then after up to 0.02 s.
    before=$(newest)
    for _ in $(seq 2000); do
      [ "$(newest)" = "$before" ] && kill -0 $started 2>/dev/null || break
      sleep 0.005
    done
    sleep 0.00$((round * 7 % 20))
    victim=$(of_job | tail -n 1 || true)
    [ -z "$victim" ] || { kill -9 "$victim" 2>/dev/null && killed=$((killed + 1)); }
  fi
  code=0
  wait $started || code=$?
  [ "$code" != 0 ] || break
done
equal "$code" 0 "exit status in the end: $(cat err)"
equal "$(json out 'r["parameters_hash"], r["versions"]')" "('$hash', $steps)" "parameters after $killed were killed"
equal "$killed" 20 "processes killed before it was done"
equal "$(ls saved | grep -vx lock)" "$(ls saved | grep -E '^[0-9]{8}$')" "what is left in the folder"
