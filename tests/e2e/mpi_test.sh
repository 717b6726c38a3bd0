#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# mpi_test.sh BUILD SOURCE LIBRARY PROGRAM: an MPI job under its library's launcher: output and exit status as
# without us; ranks, collectives and bytes of every communicator as the program itself counted them.
. "$(dirname "$0")/shell.sh"
mpi_job "$1" "$build/$2"

equal "$(status "${job[@]}")" 0 "exit status without cox"
cp "$work/out" "$work/plain"
code=$(status "$cox" observe -o "$work/r1" -- "${job[@]}")
cat "$work/err"
equal "$code" 0 "exit status under cox"
diff "$work/plain" "$work/out" || fail "the output differs"
equal "$(status "$cox" diagnose "$work/r1" --json)" 0 "exit status of diagnose"
/usr/bin/python3 "$source_dir/tests/e2e/mpi_counts.py" "$work/out" "$work/plain" 4
if [[ $program == */mpi_calls.* ]]; then
  equal "$(status "$cox" export "$work/r1" --to perfetto -o "$work/trace.json")" 0 "exit status of export"
  /usr/bin/python3 "$source_dir/tests/e2e/mpi_peers.py" "$work/trace.json" 4
fi
if [[ $program == */mpi_train.openmpi ]]; then
  /usr/bin/python3 "$source_dir/tests/e2e/forecast_check.py" "$cox" "$work/r1" 4 run
fi
