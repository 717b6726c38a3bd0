#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# misuse_test.sh BUILD SOURCE LIBRARY: what goes wrong by misuse is named within ten seconds of the start: a rank with other settings, a gradient that is no
# number on one rank, no port or no interface to listen on. A rank that sleeps is named by `cox diagnose`, from all its calls.
. "$(dirname "$0")/../shell.sh"
library=$1
need /usr/bin/python3
[ "$library" = gloo ] || need mpirun."$library"
[ -x "$build/cox-train-$library" ] || skip "cox-train-$library was not built"
cd "$work"
job=$source_dir/examples/scenarios/learn-uneven.toml
over() {
  over=(--procs "$1" --transport "$library")
  local launch=(mpirun."$library")
  [ "$library" != openmpi ] || launch+=(--oversubscribe --mca mpi_yield_when_idle 1)
  [ "$library" = gloo ] || over+=(--launch "${launch[*]} -n $*")
}
# within CODE WORDS...: it ends with that status ten seconds behind what starting takes here, with much more patience
started=$SECONDS
over 4
equal "$(status timeout 200 "$cox" train "$job" "${over[@]}" --steps 1)" 0 "exit status of one step: $(cat err)"
bar=$((SECONDS - started + 10))
within() {
  local code=$1 before=$SECONDS
  shift
  equal "$(status timeout 100 "$cox" train "$job" "${over[@]}" --patience 60 "$@")" "$code" "exit status of $*: $(cat err)"
  [ $((SECONDS - before)) -le $bar ] || fail "named after $((SECONDS - before)) s, not $bar"
}

# rank 1 is told another rate, another number of steps, another number of processes
if [ "$library" != gloo ]; then # whose program starts all ranks with the same words
  cat >other <<'END'
#!/bin/bash
words=("$@")
[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 1 ] || words=("${words[@]/$(cat from)/$(cat to)}")
exec "${words[@]}"
END
  chmod +x other
  over 3 ./other
  for change in rate=0.1:rate=0.2 steps=50:steps=60 procs=3:procs=4; do
    echo "${change%:*}" >from
    echo "${change#*:}" >to
    within 4 --steps 50 --optimizer sgd,rate=0.1
    grep -q "cox: rank 1 was told .*${change#*:}, rank 0 .*${change%:*} .train-004." err || fail "not named: $(cat err)"
  done
fi

# rank 2's gradient is no number in step 7
over 4
for layout in data-parallel zero-3; do
  within 1 --steps 100000 --layout $layout --problem mlp,dimension=16,hidden=32 --inject rank=2,nan=7 --json
  equal "$(json out 'r["diverged_rank"], r["versions"], r["diverged"]')" \
    "(2, 7, 'worker 11, step 7: weights.1 is not a number any more')" "divergence under $layout"
done

if [ "$library" = gloo ]; then
  GLOO_SOCKET_IFNAME=nowhere0 within 4 --steps 50
  grep -q 'cox: rank . cannot meet the others.*nowhere0' err || fail "interface not named: $(cat err)"
  # two ports for four processes that each listen
  if unshare -rn true 2>/dev/null; then
    cat >narrow <<'END'
#!/bin/sh
ip link set lo up && echo "40000 40001" >/proc/sys/net/ipv4/ip_local_port_range && exec "$@"
END
    chmod +x narrow
    before=$SECONDS
    equal "$(status timeout 100 unshare -rn ./narrow "$cox" train "$job" "${over[@]}" --steps 50)" 4 "exit status without ports: $(cat err)"
    [ $((SECONDS - before)) -le $bar ] || fail "named after $((SECONDS - before)) s, not $bar"
    grep -q 'cox: rank . cannot meet the others.*Address already in use' err || fail "port not named: $(cat err)"
  fi
fi

# rank 2 sleeps 20 ms in each step
equal "$(status timeout 100 "$cox" observe -o run -- "$cox" train "$job" "${over[@]}" --steps 60 \
  --problem mlp,dimension=32,hidden=64 --inject rank=2,delay=0.02)" 0 "exit status, observed: $(cat err)"
equal "$(status "$cox" diagnose run --json)" 0 "exit status of diagnose"
equal "$(json out 'r["coverage"], r["outcome"], [f["ranks"] for f in r["findings"]], r["findings"][0]["kind"]')" \
  "(1.0, 'named', [[2]], 'slow_rank')" "what is named"
