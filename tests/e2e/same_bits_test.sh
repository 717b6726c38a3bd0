#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# same_bits_test.sh BUILD SOURCE LIBRARY RUNS: a reduction that depends on the order of its sums gives the same bits
# with and without us, run after run.
. "$(dirname "$0")/shell.sh"
library=$1
runs=$2
program=$build/tests/e2e/order_sum.$library
need mpirun."$library"
[ -x "$program" ] || skip "${program##*/} was not built"
job=(timeout 60 mpirun."$library")
[ "$library" = mpich ] || job+=(--oversubscribe --mca mpi_yield_when_idle 1)
job+=(-n 4 "$program")
plain=$("${job[@]}")
[[ $plain =~ ^[0-9a-f]{16}$ ]] || fail "the program printed '$plain'"
for ((i = 0; i < runs; ++i)); do
  equal "$("$cox" observe --quiet --force -o "$work/r1" -- "${job[@]}")" "$plain" "bits of observed run $i"
done
equal "$("${job[@]}")" "$plain" "bits of the last run without cox"
[ -e "$work/r1/run.json" ] || fail "nothing was recorded"
