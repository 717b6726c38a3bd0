#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# orders_test.sh BUILD SOURCE LIBRARY: both orders on one host, as counted by the program; folders that are refused; a
# rank whose cox is killed; a launcher that is not the library's.
. "$(dirname "$0")/shell.sh"
library=$1
need mpirun."$library" /usr/bin/python3
program=$build/examples/mpi_train.$library
[ -x "$program" ] || skip "${program##*/} was not built"
cd "$work"
launcher() { # launcher LIBRARY: its words
  echo "timeout 60 mpirun.$1 -n 4"
  [ "$1" = mpich ] || echo "--oversubscribe --mca mpi_yield_when_idle 1"
}
read -r -d '' -a mpirun <<<"$(launcher "$library" | tr '\n' ' ')" || true
job=("$program" --steps 10)

# check FOLDER: recorded as the program counted in out
check() {
  cp out printed
  equal "$(status "$cox" diagnose "$1" --json)" 0 "exit status of diagnose ($1)"
  cp out diagnosis.json
  /usr/bin/python3 "$source_dir/tests/e2e/mpi_counts.py" diagnosis.json printed 4
  equal "$(json diagnosis.json 'd["warnings"]')" "[]" "warnings ($1)"
  "$build/list_processes" "$1" >processes
  equal "$(grep -c "^rank [0-3] of 4 local [0-3] of 4 .* launcher $library " processes)" 4 "processes ($1): $(cat processes)"
  equal "$(grep -o 'job [^ ]*' processes | sort -u | wc -l)" 1 "jobs ($1)"
}

equal "$(status "${mpirun[@]}" "${job[@]}")" 0 "exit status without us"
cp out plain
equal "$(status "$cox" observe -o outer -- "${mpirun[@]}" "${job[@]}")" 0 "exit status, outer order"
diff <(grep -v ' ms' plain) <(grep -v ' ms' out) || fail "the output differs, outer order"
check outer
grep -q 'job -' processes && fail "the job has no name: $(cat processes)"

equal "$(status "${mpirun[@]}" "$cox" observe -o inner -- "${job[@]}")" 0 "exit status, inner order"
diff <(grep -v ' ms' plain | sort) <(grep -v ' ms' out | sort) || fail "the output differs, inner order"
equal "$(grep -c '^cox:' err)" 2 "lines of ours: only rank 0 speaks: $(cat err)"
check inner
equal "$(find inner -type f | grep -v run.claims | wc -l)" 5 "files: $(ls inner)"

# again into the same folder, and over a finished Run: refused, and nothing is touched
for folder in inner outer; do
  before=$(cd "$folder" && sha256sum -- *)
  code=$(status "${mpirun[@]}" "$cox" observe -o "$folder" -- "${job[@]}")
  [ "$code" != 0 ] || fail "a second job got into $folder"
  grep -q 'observe-001' err || fail "no reason was given: $(cat err)"
  equal "$(cd "$folder" && sha256sum -- *)" "$before" "what was in $folder"
done
code=$(status "${mpirun[@]}" "$cox" observe -f -o inner -- "${job[@]}")
[ "$code" != 0 ] && grep -q 'observe-006' err || fail "--force was taken: $(cat err)"

# the exit status of a rank goes through, and one rank whose cox is killed does not leave its program behind
equal "$(status "${mpirun[@]}" "$cox" observe -q -o failing -- sh -c 'exit 7')" 7 "exit status of a job that fails"
code=$(status "${mpirun[@]}" "$cox" observe -q -o killed -- sh -c 'echo $$ >>pids; [ $$ != "$(head -n 1 pids)" ] || kill -KILL $PPID; exec sleep 50')
[ "$code" != 0 ] || fail "a job whose rank was killed reports success"
for _ in $(seq 600); do
  left=$(while read -r pid; do [ ! -e "/proc/$pid/exe" ] || echo "$pid"; done <pids)
  [ -n "$left" ] || break
  sleep 0.05
done
equal "$left" "" "programs that outlived their launcher"

# a plain process is a job of one rank
if [ "$library" = openmpi ]; then
  equal "$(status timeout 60 "$cox" observe -o single -- "${job[@]}")" 0 "exit status, no launcher"
  grep -q 'recorded 1 rank,' err || fail "no launcher: $(cat err)"
fi

# the launcher of the other library: each process is alone, and that is said by whoever looks
other=openmpi
[ "$library" = openmpi ] && other=mpich
command -v mpirun.$other >/dev/null || exit 0
read -r -d '' -a mpirun <<<"$(launcher $other | tr '\n' ' ')" || true
if [ "$(status "${mpirun[@]}" "${job[@]}")" != 0 ]; then # MPICH 5, started by PRRTE
  echo "the library refuses to be started by mpirun.$other: that is left out"
  exit 0
fi
equal "$(status "$cox" observe -o alone -- "${mpirun[@]}" "${job[@]}")" 0 "exit status, wrong launcher"
grep -q 'warning: 4 processes .* rank 0 of 1: the launcher and the MPI library .* do not match' err || fail "not said: $(cat err)"
equal "$(status "$cox" diagnose alone)" 0 "exit status of diagnose, wrong launcher"
grep -q '4 processes .* rank 0 of 1: the launcher and the MPI library .* do not match' err || fail "not said by diagnose: $(cat err)"
equal "$(status "${mpirun[@]}" "$cox" observe -o alone-inner -- "${job[@]}")" 0 "exit status, wrong launcher, inner order"
grep -q 'do not match' err || fail "not said in inner order: $(cat err)"

# the launcher watches what it gave its ranks (PMI_FD): a rank that leaves without MPI_Finalize is heard of as without us
if [ "$library" = mpich ]; then
  early=("$build/tests/e2e/leaves_early.$library")
  # (Of more ranks, mpirun.mpich ends some for the others' leaving, behind any wrapper; on a busy machine of two, too: behind
  # `sh -c` in 1 of 25 jobs. So it may take three.)
  equal "$(status timeout 60 mpirun.mpich -n 2 "${early[@]}")" 0 "ranks that leave early, without us"
  for try in 1 2 3; do
    ended=$(status timeout 60 mpirun.mpich -n 2 "$cox" observe -o "early-$try" -- "${early[@]}")
    [ "$ended" != 0 ] || break
  done
  equal "$ended" 0 "ranks that leave early, in three jobs"
fi
