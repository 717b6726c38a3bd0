# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154
# A Slurm cluster on the hosts of a lab: one slurmd per host, slurmctld on cxh0, a munged of its own. Source it behind
# lab.sh; after lab_up:
#
#   lab_slurm_available || skip "$lab_reason"
#   lab_slurm_up            starts it and waits until all hosts are idle; returns 1 and prints the logs where that fails
#   lab_slurm COMMAND...    runs srun, sbatch, scontrol, ... on cxh0, in an empty environment
#
# lab_down ends the daemons with everything else that runs on the hosts.

lab_slurm_available() {
  local what
  lab_reason=
  for what in slurmctld slurmd munged mungekey srun; do
    PATH=$PATH:/usr/sbin command -v "$what" >/dev/null || lab_reason="$what is not here (packages slurm-wlm, munge)"
  done
  [ -z "$lab_reason" ]
}

# lab_slurm_daemon HOST COMMAND...: in the background, with the lab's Slurm settings; its output goes to the logs.
lab_slurm_daemon() {
  local host=$1
  shift
  lab_on "$host" env SLURM_CONF="$LAB/slurm/etc/slurm.conf" "$@" >>"$LAB/slurm/log/daemons.$host" 2>&1 &
}

lab_slurm_up() {
  local slurm=$LAB/slurm host count=${#lab_hosts[@]}
  PATH=$PATH:/usr/sbin
  mkdir -p "$slurm"/{etc,state,log,pmix,munge}
  mungekey --create --keyfile "$slurm/munge/key" --bits 1024
  chmod 700 "$slurm/munge"
  cat >"$slurm/etc/slurm.conf" <<CONF
ClusterName=cx
SlurmctldHost=cxh0
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$slurm/munge/socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0
ReturnToService=2
InactiveLimit=0
KillWait=5
TreeWidth=64
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
StateSaveLocation=$slurm/state
SlurmdSpoolDir=$slurm/spool.%n
SlurmctldPidFile=$slurm/slurmctld.pid
SlurmdPidFile=$slurm/slurmd.%n.pid
SlurmctldLogFile=$slurm/log/slurmctld
SlurmdLogFile=$slurm/log/slurmd.%n
NodeName=cxh[0-$((count - 1))] CPUs=4 RealMemory=100 State=UNKNOWN
PartitionName=main Nodes=cxh[0-$((count - 1))] Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
CONF
  echo "CgroupPlugin=cgroup/v1" >"$slurm/etc/cgroup.conf"
  echo "PMIxCliTmpDirBase=$slurm/pmix" >"$slurm/etc/mpi.conf"
  # On cxh0, so that it ends with the lab; its socket is a file that all hosts reach.
  lab_slurm_daemon cxh0 munged --foreground --force --key-file="$slurm/munge/key" --socket="$slurm/munge/socket" \
    --pid-file="$slurm/munge/pid" --seed-file="$slurm/munge/seed" --log-file="$slurm/log/munged"
  for _ in $(seq 100); do
    [ -S "$slurm/munge/socket" ] && break
    sleep 0.1
  done
  lab_slurm_daemon cxh0 slurmctld -D -c -f "$slurm/etc/slurm.conf"
  for host in "${lab_hosts[@]}"; do
    mkdir -p "$slurm/spool.$host" "$slurm/pmix.$host"
    # The bind lets steps of two hosts use the one name that PMIx gives its folder.
    lab_slurm_daemon "$host" sh -c "mount --bind $slurm/pmix.$host $slurm/pmix && exec slurmd -D -f $slurm/etc/slurm.conf -N $host"
  done
  for _ in $(seq 100); do
    [ "$(lab_slurm sinfo -h -N -o '%T' 2>/dev/null | grep -c idle)" = "$count" ] && return 0
    sleep 0.1
  done
  tail -n 20 "$slurm"/log/*
  return 1
}

lab_slurm() {
  lab_on cxh0 env SLURM_CONF="$LAB/slurm/etc/slurm.conf" "$@"
}
