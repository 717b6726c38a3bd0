#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# contained.sh COMMAND...: runs it in a PID namespace of its own where that is allowed: it can signal no process but
# those that it started, and none of them outlives it. Where it is not allowed the command runs without, and one line on
# stderr says so. COX_CONTAINED=0 asks for none. Exit code: the command's.
set -euo pipefail
[ $# -gt 0 ] || { echo "usage: scripts/contained.sh COMMAND..." >&2; exit 2; }

if [ "${COX_CONTAINED:-1}" = 0 ]; then exec "$@"; fi

# As root the tests' labs are named by process number under two folders of the host: these become private, so that no lab
# of another suite has the same name or is taken for a dead one. Numbers go on from this one, so that files in /tmp named
# by number rarely meet those of another suite.
# The shell stays the first process of the namespace and waits for orphans.
# shellcheck disable=SC2016
inside='set -e
if [ "$(id -u)" = 0 ]; then
  for folder in /run/netns /etc/netns; do
    mkdir -p "$folder"
    mount -t tmpfs tmpfs "$folder"
  done
fi
{ echo "$0" >/proc/sys/kernel/ns_last_pid; } 2>/dev/null || true
set +e
"$@"
exit $?'
namespace=(unshare --pid --fork --kill-child --mount-proc)
[ "$(id -u)" = 0 ] || namespace+=(--user --map-current-user)

if reason=$("${namespace[@]}" bash -c "$inside" $$ true 2>&1); then
  exec "${namespace[@]}" bash -c "$inside" $$ "$@"
fi
echo "contained.sh: no PID namespace of its own for '$1' here: ${reason:-unshare failed}" >&2
exec "$@"
