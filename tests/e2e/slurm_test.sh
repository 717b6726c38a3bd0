#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Under real slurmds on two hosts: srun in both orders, and mpirun in a batch job: ranks, nodes and job id are right.
. "$(dirname "$0")/shell.sh"
. "$source_dir/tests/support/lab/lab.sh"
. "$source_dir/tests/support/lab/slurm.sh"
need python3 mpirun.openmpi
program=$build/examples/mpi_train.openmpi
[ -x "$program" ] || skip "${program##*/} was not built"
lab_available || skip "$lab_reason"
lab_slurm_available || skip "$lab_reason"
lab_up 2
lab_slurm_up || fail "Slurm did not start"
cd "$work"
settings=(OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self,vader OMPI_MCA_btl_tcp_if_include=eth0 OMPI_MCA_mpi_yield_when_idle=1)
srun=(srun -N2 --ntasks-per-node=2 -n4 --mpi=pmix)
job=("$program" --steps 40)
in_slurm() { lab_slurm env -C "$work" "${settings[@]}" timeout 60 "$@"; }

# check FOLDER JOB LAUNCHER: four ranks on two hosts, everything they did
check() {
  equal "$(status "$cox" diagnose "$1" --json)" 0 "exit status of diagnose ($1)"
  cp out diagnosis.json
  equal "$(json diagnosis.json 'r["coverage"]')" 1.0 "coverage ($1)"
  equal "$(json diagnosis.json 'd["warnings"]')" "[]" "warnings ($1)"
  "$build/list_processes" "$1" >processes
  local node=0 nodes=("0" "1")
  [ "$3" = slurm ] || nodes=("-1" "-1") # mpirun does not tell
  : >expected
  for node in 0 1; do
    for local in 0 1; do
      echo "rank $((2 * node + local)) of 4 local $local of 2 host cxh$node node ${nodes[node]} job $2 launcher $3 attempt 0"
    done
  done >expected
  diff <(sed -E 's/ job ([0-9]+)\.([0-9]{3,}|prterun-[^ ]*) / job \1.NAMESPACE /' processes) expected || fail "processes ($1)"
}

code=$(status in_slurm "${srun[@]}" "${job[@]}")
cat err
equal "$code" 0 "exit status without us"
code=$(status in_slurm "$cox" observe -o outer -- "${srun[@]}" "${job[@]}")
cat err
equal "$code" 0 "exit status, outer order"
check outer 2.0 slurm

code=$(status in_slurm "${srun[@]}" "$cox" observe -o inner -- "${job[@]}")
cat err
equal "$code" 0 "exit status, inner order"
equal "$(grep -c '^cox:' err)" 2 "lines of ours: only rank 0 speaks"
check inner 3.0 slurm
grep -q '"job": "3"' inner/run.json || fail "run.json does not name the job: $(cat inner/run.json)"

# without -o the folder has the job's own name
code=$(status in_slurm "${srun[@]}" "$cox" observe -- "${job[@]}")
cat err
equal "$code" 0 "exit status without a folder"
[ -f cox-slurm-4.0/run.json ] || fail "no folder of the job's name: $(ls)"

# a rank that fails
code=$(status in_slurm "${srun[@]}" "$cox" observe -q -o failing -- sh -c 'exit 7')
equal "$code" 7 "exit status of a job that fails"

# mpirun in a batch job starts its daemons by srun: its ranks inherit Slurm's numbers of the daemons
cat >batch.sh <<SH
#!/bin/sh
#SBATCH -N2 -n4 --ntasks-per-node=2 -o $work/batch.out
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
exec $cox observe -o batch -- timeout 60 mpirun.openmpi --mca oob_tcp_if_include eth0 --bind-to none ${job[*]}
SH
code=$(status in_slurm sbatch -W batch.sh)
cat batch.out
equal "$code" 0 "exit status of the batch job"
check batch 6.NAMESPACE openmpi
