# SPDX-License-Identifier: Apache-2.0
# For tests of `cox train` over a library, behind `. shell.sh` with `library` set: its programs, its launcher, what is compared, and
# a job one of whose ranks is struck.
need /usr/bin/python3
if [ "$library" = gloo ]; then need pgrep; else need mpirun."$library"; fi
[ -x "$build/cox-train-$library" ] || skip "cox-train-$library was not built"
cd "$work"
job=$source_dir/examples/scenarios/learn-uneven.toml
launch=(mpirun."$library")
[ "$library" != openmpi ] || launch+=(--oversubscribe --mca mpi_yield_when_idle 1)

# over PROCS [PROGRAM]: flags of so many processes, into `over`; Gloo's program starts them itself
over() {
  over=(--procs "$1" --transport "$library")
  [ "$library" = gloo ] || over+=(--launch "${launch[*]} -n $*")
}

# losses FILE: every digit
losses() { /usr/bin/python3 -c 'import json, sys
for p in json.load(open(sys.argv[1]))["result"]["points"]: print(p["version"], p["samples"], p["loss"])' "$1"; }

# strike SIGNAL WORDS...: rank 1 of two gets the signal after three seconds (one that is stopped before the library has started has nobody to be missed by); the job ends in time with status 4, and nobody is left
strike() {
  local signal=$1 code left
  shift
  cat >struck <<END
#!/bin/sh
"\$@" &
echo \$! >>pids
[ "\${OMPI_COMM_WORLD_RANK:-\$PMI_RANK}" = 1 ] && sleep 3 && kill -s $signal \$!
wait \$!
END
  chmod +x struck
  over 2 ./struck
  export TMPDIR=$work # where Gloo's ranks meet: their command lines have it
  : >pids
  if [ "$library" = gloo ]; then
    (
      sleep 3
      pgrep -f "cox-train-gloo [01] $work/" >pids
      kill -s "$signal" "$(pgrep -f "cox-train-gloo 1 $work/")"
    ) &
  fi
  code=$(status timeout 60 "$cox" train "$job" "${over[@]}" --steps 1000000 --problem mlp,dimension=64,hidden=256 \
    --optimizer sgd,rate=1e-6 --patience 2 "$@")
  equal "$code" 4 "exit status of a process with $signal: $(cat err)"
  for _ in $(seq 100); do
    left=$(while read -r pid; do [ ! -e "/proc/$pid/exe" ] || echo "$pid"; done <pids)
    [ -n "$left" ] || break
    sleep 0.1
  done
  equal "$left" "" "processes that are left"
  equal "$(wc -l <pids)" 2 "processes"
}
