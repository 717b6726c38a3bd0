# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
# Several hosts on one machine, for tests: each has a network, a host name, an /etc/hosts and a boot id of its own. They
# share the file system, the processors and the process numbers. Needs root. Source it, then:
#
#   lab_available || skip "$lab_reason"   says why not
#   lab_up N                              makes hosts cxh0 ... cxhN-1; sets LAB (a folder), lab_hosts, lab_openmpi
#   lab_on HOST COMMAND...                runs it there, in an empty environment but for PATH and HOME
#   lab_down                              removes all of it; also runs when the shell ends, however it ends
#
# LAB/rsh is the remote shell for launchers: LAB/rsh [-OPTION...] HOST WORDS..., as ssh takes them. It starts from an
# empty environment, so that a variable that a launcher does not forward is missing there as it would be on a cluster.
# LAB/env/HOST: lines NAME=VALUE that everything started on that host gets. LAB/prefix/HOST: words to put before it.
# Names hold the number of the process, so labs may exist side by side; what a killed one left is removed by the next.

lab_reason=
LAB=
lab_hosts=()
lab_openmpi=()

lab_available() {
  local probe=cxp$BASHPID
  lab_reason=
  if [ "$(id -u)" != 0 ]; then
    lab_reason="several hosts need root for namespaces"
  elif ! command -v ip >/dev/null || ! command -v nsenter >/dev/null || ! command -v unshare >/dev/null; then
    lab_reason="ip, nsenter or unshare is not here (packages iproute2, util-linux)"
  elif ! ip netns add "$probe" 2>/dev/null; then
    lab_reason="network namespaces cannot be made here (ip netns add)"
  else
    if ! ip netns exec "$probe" unshare --uts hostname cxprobe 2>/dev/null; then
      lab_reason="host names cannot be set in a namespace here (unshare --uts)"
    elif ! ip -n "$probe" link add cxpa type veth peer name cxpb 2>/dev/null; then
      lab_reason="virtual network links cannot be made here (ip link add type veth)"
    elif ! ip -n "$probe" link add cxpc type bridge 2>/dev/null; then
      lab_reason="network bridges cannot be made here (ip link add type bridge)"
    fi
    ip netns del "$probe"
  fi
  [ -z "$lab_reason" ]
}

# lab_remove TAG FOLDER: everything of one lab; parts that are not there are no error.
lab_remove() {
  local tag=$1 folder=$2 space process name
  for name in TERM KILL; do
    for space in "/run/netns/$tag"[fh]*; do
      [ -e "$space" ] || continue
      for process in $(ip netns pids "${space##*/}" 2>/dev/null); do
        [ "$process" = $$ ] || kill -"$name" "$process" 2>/dev/null || true
      done
    done
    [ "$name" = KILL ] || lab_wait_gone "$tag"
  done
  for space in "/run/netns/$tag"[fh]*; do
    [ ! -e "$space" ] || ip netns del "${space##*/}" 2>/dev/null || true
  done
  rm -rf "/etc/netns/$tag"[hl]*
  if [ -n "$folder" ] && [ -e "$folder/is-a-lab" ]; then
    for space in "$folder"/uts/*; do
      umount "$space" 2>/dev/null || true
    done
    umount "$folder/uts" 2>/dev/null || true
    rm -rf "$folder"
  fi
}

# Up to two seconds for processes that were asked to end; goes on at once when they have.
lab_wait_gone() {
  local space left
  for _ in $(seq 40); do
    left=
    for space in "/run/netns/$1"[fh]*; do
      [ ! -e "$space" ] || left+=$(ip netns pids "${space##*/}" 2>/dev/null || true)
    done
    [ -n "$left" ] || return 0
    sleep 0.05
  done
}

# Labs whose process is gone (killed before it could remove them).
lab_sweep() {
  local config name owner
  for config in /etc/netns/cx*l; do
    [ -e "$config/lab-folder" ] || continue
    name=${config##*/}
    owner=${name#cx}
    owner=${owner%l}
    kill -0 "$owner" 2>/dev/null || lab_remove "cx$owner" "$(cat "$config/lab-folder")"
  done
}

lab_down() {
  [ -n "$LAB" ] || return 0
  lab_remove "cx$$" "$LAB"
  LAB=
}

lab_up() {
  local count=$1 i host space fabric=cx$$f record=/etc/netns/cx$$l
  lab_sweep
  LAB=$(mktemp -d "${TMPDIR:-/tmp}/cox-lab.XXXXXX")
  chmod 755 "$LAB"
  touch "$LAB/is-a-lab"
  # Whatever trap the caller has stays, ours comes before it.
  local before
  before=$(trap -p EXIT)
  before=${before#trap -- \'}
  before=${before%\' EXIT}
  # shellcheck disable=SC2064
  trap "lab_down; ${before:-:}" EXIT
  trap 'exit 143' TERM
  trap 'exit 130' INT
  trap 'exit 129' HUP

  mkdir -p "$LAB"/{uts,boot_id,env,prefix} "$record"
  echo "$LAB" >"$record/lab-folder"
  mount --bind "$LAB/uts" "$LAB/uts"
  mount --make-private "$LAB/uts"
  ip netns add "$fabric"
  ip -n "$fabric" link add switch type bridge mcast_snooping 0
  ip -n "$fabric" link set switch up
  echo "127.0.0.1 localhost" >"$LAB/hosts"
  for ((i = 0; i < count; ++i)); do
    echo "10.77.0.$((i + 1)) cxh$i" >>"$LAB/hosts"
    echo "cxh$i slots=64" >>"$LAB/hostfile"
  done
  for ((i = 0; i < count; ++i)); do
    host=cxh$i
    space=cx$$h$i
    lab_hosts+=("$host")
    ip netns add "$space"
    ip link add eth0 netns "$space" type veth peer name "p$i" netns "$fabric"
    ip -n "$fabric" link set "p$i" master switch up
    ip -n "$space" addr add "10.77.0.$((i + 1))/24" dev eth0
    ip -n "$space" link set eth0 up
    ip -n "$space" link set lo up
    mkdir -p "/etc/netns/$space"
    cp "$LAB/hosts" "/etc/netns/$space/hosts"
    touch "$LAB/uts/$host" "$LAB/env/$host" "$LAB/prefix/$host"
    unshare --uts="$LAB/uts/$host" hostname "$host"
    cat /proc/sys/kernel/random/uuid >"$LAB/boot_id/$host"
  done
  cat >"$LAB/rsh" <<RSH
#!/bin/bash
# rsh [-OPTION...] HOST WORDS...: the words as one line of a shell on that host, in an empty environment.
while [[ \$1 == -* ]]; do shift; done
host=\$1
shift
mapfile -t set <"$LAB/env/\$host"
exec env -i PATH="\$PATH" HOME="\${HOME:-/root}" "\${set[@]}" \\
  nsenter --uts="$LAB/uts/\$host" ip netns exec "cx$$h\${host#cxh}" /bin/sh -c \\
  "mount --bind $LAB/boot_id/\$host /proc/sys/kernel/random/boot_id && exec \$(cat "$LAB/prefix/\$host") /bin/bash -c \\"\\\$0\\"" "\$*"
RSH
  chmod 755 "$LAB/rsh"
  # What Open MPI needs to start ranks here; mpirun itself has to run on one of the hosts.
  lab_openmpi=(mpirun.openmpi --allow-run-as-root --hostfile "$LAB/hostfile" --bind-to none
    --mca plm_rsh_agent "$LAB/rsh" --mca orte_keep_fqdn_hostnames 1 --mca oob_tcp_if_include eth0
    --mca pml ob1 --mca btl tcp,self,vader --mca btl_tcp_if_include eth0 --mca mpi_yield_when_idle 1)
}

# lab_on HOST COMMAND WORDS...: like the remote shell, but words stay words.
lab_on() {
  local host=$1 line
  shift
  printf -v line '%q ' "$@"
  "$LAB/rsh" "$host" "$line"
}
