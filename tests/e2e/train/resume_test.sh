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

# A full device: room for two generations and no third. One line names rank, file and the one before; with room the same command goes on.
[ "$(id -u)" = 0 ] && command -v unshare >/dev/null || skip "the rest needs root, for a full file system"
mkdir small
small() { unshare -m --propagation private sh -c 'mount -t tmpfs -o size=2m none "$0" && . "$1"' "$work/small" ./steps; }
: >steps
[ "$(status small)" = 0 ] || skip "no mount namespace here"
over 2
what=(--problem "mlp,dimension=64,hidden=960,seed=$$" --optimizer adam,rate=0.001 --steps 60 --json)
equal "$(status "$cox" train "$job" --procs 1 "${what[@]}")" 0 "exit status of threads: $(cat err)"
hash=$(json out 'r["parameters_hash"]')
again=$(printf ' %q' "$cox" train "$job" "${over[@]}" "${what[@]}" --checkpoint "$work/small" --checkpoint-every 20 --resume)
cat >steps <<END
$again >full.out 2>full.err
echo \$? >full.status
ls "$work/small" >full.left
mount -o remount,size=8m "$work/small"
$again >went_on.out
END
equal "$(status small)" 0 "exit status with room: $(cat err)"
equal "$(cat full.status)" 4 "exit status on a full device: $(cat full.err)"
grep -q 'rank [01] cannot write part-[01] of checkpoint 60 in .*small: No space left on device; checkpoint 40, the one before, is what it was' \
  full.err || fail "what is said of a full device: $(cat full.err)"
equal "$(echo $(cat full.left))" "00000020 00000040 lock" "what is there on a full device"
equal "$(json went_on.out 'r["parameters_hash"], r["resumed_version"]')" "('$hash', 40)" "parameters behind a full device"
