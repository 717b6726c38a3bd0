#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A benchmark that nobody here wrote: HPC Challenge with its sample input, 4 ranks.
. "$(dirname "$0")/shell.sh"
need mpirun.openmpi hpcc
sample=/usr/share/doc/hpcc/examples/_hpccinf.txt
[ -r "$sample" ] || skip "hpcc's sample input is not here (documentation is left out of this machine)"
cd "$work"
cp "$sample" hpccinf.txt
code=$(status timeout 280 "$cox" observe -o r1 -- mpirun.openmpi --oversubscribe --mca mpi_yield_when_idle 1 -n 4 hpcc)
cat "$work/err"
equal "$code" 0 "exit status"
grep -qx 'Success=1' hpccoutf.txt || fail "hpcc did not succeed"
! grep FAILED hpccoutf.txt || fail "hpcc reports a failed test"
equal "$(status "$cox" diagnose r1 --json)" 0 "exit status of diagnose"
equal "$(json "$work/out" 'r["coverage"]')" 1.0 "coverage"
# Its HPL and PTRANS make several communicators of the 4 ranks; most collectives are on the world.
equal "$(json "$work/out" 'sum(c["size"] == 4 for c in r["communicators"]) >= 5')" true "communicators of 4 ranks"
equal "$(json "$work/out" 'max(c["collectives"] for c in r["communicators"]) > 1000')" true "collectives of the world"
equal "$(json "$work/out" 'len(r["ranks"])')" 4 "ranks"
