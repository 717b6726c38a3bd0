#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A lab whose network has rates and delays (fabric.cpp), for as long as one command runs:
#
#   shaped.sh FABRIC HOSTS PER_LEAF MBIT DELAY_US SPINE_MBIT SPINE_DELAY_US -- COMMAND...
#
# FABRIC is the built fabric.cpp. HOSTS hosts stand PER_LEAF to a switch; MBIT and DELAY_US are of each host's cable in
# each direction (MBIT of several hosts: 100,100,25; the last is that of all further ones), SPINE_* of each switch's
# cable to the spine. The command gets LAB (lab.sh; LAB/rsh HOST WORDS... runs
# words on a host) and LAB_OPENMPI (the words that start Open MPI there, on host cxh0). LAB_WINDOW, where it is set, is the
# largest window of a connection, in bytes (262144). Everything is removed when the
# command ends, however it ends. Exit 77: the machine cannot do this; the reason is printed.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
# shellcheck source=tests/support/lab/lab.sh
. "$here/lab.sh"

skip() {
  echo "SKIP: $1" >&2
  exit 77
}
window=${LAB_WINDOW:-262144}
fabric=$1 hosts=$2 per_leaf=$3 delay=$5 spine_mbit=$6 spine_delay=$7
IFS=, read -ra rates <<<"$4"
[ "$8" = "--" ] || exit 2
shift 8
lab_available || skip "$lab_reason"
[ -c /dev/net/tun ] || skip "/dev/net/tun is not here: no TAP devices"
chrt -f 20 true 2>/dev/null || skip "real-time scheduling is not allowed here (chrt -f 20)"

started=()
# shellcheck disable=SC2317
stop_started() {
  for process in "${started[@]}"; do
    kill "$process" 2>/dev/null || true
    wait "$process" 2>/dev/null || true
  done
  started=()
}
trap stop_started EXIT
lab_up "$hosts"
{
  echo "mtu 1500"
  echo "limit 2000000"
  echo "spine $spine_mbit $spine_delay"
  for ((i = 0; i < hosts; ++i)); do
    ip -n "cx$$h$i" link del eth0
    echo "host cx$$h$i 10.77.0.$((i + 1)) $((i / per_leaf)) ${rates[i]:-${rates[-1]}} $delay"
  done
} >"$LAB/fabric.config"
chrt -f 20 "$fabric" "$LAB/fabric.config" >"$LAB/fabric.out" &
fabric_pid=$!
started+=("$fabric_pid")
for _ in $(seq 100); do
  if grep -q ready "$LAB/fabric.out"; then break; fi
  kill -0 "$fabric_pid" 2>/dev/null || skip "the emulated network did not start"
  sleep 0.05
done
for ((i = 0; i < hosts; ++i)); do
  # An idle connection keeps its window, and windows are a few times what the cables hold, so that no queue overflows.
  ip netns exec "cx$$h$i" sh -c "echo reno >/proc/sys/net/ipv4/tcp_congestion_control
    echo 0 >/proc/sys/net/ipv4/tcp_slow_start_after_idle
    echo 4096 $window $window >/proc/sys/net/ipv4/tcp_rmem
    echo 4096 $window $window >/proc/sys/net/ipv4/tcp_wmem"
done
export LAB LAB_OPENMPI="${lab_openmpi[*]}"
# In the background, so that a signal ends the lab at once and not after the command.
"$@" &
command_pid=$!
started+=("$command_pid")
status=0
wait "$command_pid" || status=$?
exit "$status"
