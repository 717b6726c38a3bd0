#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Not where we do not belong: a job submitted from an observed one does not record into its Run, COX_DISABLE=1 costs one
# getenv, and a program that only looks whether MPI is there finds what it finds without us.
. "$(dirname "$0")/shell.sh"
marks=$build/many_marks
tests=$build

# A job script that submits another: the batch system sets its own id, everything else is inherited.
SLURM_JOB_ID=1 "$cox" observe -q -o "$work/a" -- sh -c "SLURM_JOB_ID=2 $marks 3 10; $marks 2 10"
equal "$(ls "$work/a" | grep -c '\.cox$')" 2 "files of the observed job alone"
# Started outside of every batch system, a job that srun or sbatch starts is the Run's.
SLURM_JOB_ID='' "$cox" observe -q -o "$work/b" -- sh -c "SLURM_JOB_ID=2 $marks 3 10"
equal "$(ls "$work/b" | grep -c '\.cox$')" 3 "files of a job started from a login node"

# COX_DISABLE=1: cox observe adds nothing; where it is set inside, the guest asks for it and for nothing else.
COX_DISABLE=1 "$cox" observe -o "$work/c" -- sh -c 'env' >"$work/env" 2>"$work/err"
! grep -qE '^(COX_DIR|LD_PRELOAD|COX_JOB)=' "$work/env" || fail "$(cat "$work/env")"
equal "$(cat "$work/err")" "cox: COX_DISABLE=1: nothing is recorded, and the job starts as without cox" "what is said"
asked=$(COX_ASKED=$work/asked LD_PRELOAD="$tests/libcount_getenv.so:$build/libcox-preload.so" \
  COX_DIR="$work/none" COX_DISABLE=1 "$marks" 1 100 && cat "$work/asked")
equal "$asked" "COX_DISABLE" "what the guest asks the environment for"
# Without it there is more to ask: the count is one of calls.
mkdir "$work/some"
COX_ASKED=$work/more LD_PRELOAD="$tests/libcount_getenv.so:$build/libcox-preload.so" COX_DIR="$work/some" "$marks" 1 100
[ "$(wc -l <"$work/more")" -gt 3 ] || fail "the count counts nothing"

# Programs that would do without MPI.
for program in optional_mpi_weak optional_mpi_dlsym; do
  equal "$("$tests/$program")" "no MPI" "$program without cox"
  equal "$("$cox" observe -o "$work/$program" -- "$tests/$program" 2>"$work/err")" "no MPI" "$program under cox"
  grep -q "cox: .*optional_mpi.* looks for an MPI library by .* nothing is preloaded" "$work/err" || fail "$(cat "$work/err")"
  # through a shell, and through a script that starts another
  printf '#!/bin/sh\n# a comment\nexec "%s"\n' "$tests/$program" >"$work/inner.sh"
  printf '#!/usr/bin/env bash\ncd / && %s\n' "$work/inner.sh" >"$work/outer.sh"
  chmod +x "$work/inner.sh" "$work/outer.sh"
  equal "$("$cox" observe -q -o "$work/$program-c" -- sh -ec "$tests/$program; true")" "no MPI" "$program by sh -c"
  equal "$("$cox" observe -q -o "$work/$program-s" -- "$work/outer.sh")" "no MPI" "$program by scripts"
  printf '%s\n' "$tests/$program" >"$work/bare.sh"
  equal "$(cd "$work" && "$cox" observe -q -o "$work/$program-b" -- sh bare.sh)" "no MPI" "$program by sh FILE"
  "$cox" doctor --program "$tests/$program" >"$work/out"
  grep -q 'missing  program .*looks for MPI by' "$work/out" || fail "doctor says nothing of $program"
  "$cox" doctor --program "$work/outer.sh" >"$work/out"
  grep -q 'missing  program .*looks for MPI by' "$work/out" || fail "doctor says nothing of a script for $program"
done
"$cox" doctor --program "$marks" >"$work/out"
grep -q 'ok       program' "$work/out" || fail "doctor on a program that does not look for MPI"

# A script that only names such a program is observed; a word that is a large file of data is not read.
printf '#!/bin/sh\n[ -x %s ] && echo "usage: %s" >/dev/null\nexec "%s" 2 10\n' "$tests/optional_mpi_weak" \
  "$tests/optional_mpi_weak" "$marks" >"$work/names.sh"
truncate -s 100G "$work/data"
chmod +x "$work/names.sh" "$work/data"
equal "$(ulimit -v 2000000 && status "$cox" observe -q -o "$work/names" -- "$work/names.sh" "$work/data")" 0 "a script that names it"
equal "$(ls "$work/names" | grep -c '\.cox$')" 2 "files of a job whose script names such a program"
