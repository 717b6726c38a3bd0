#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/contained.sh: its command sees and reaches no process but those that it started, none of them outlives it, and
# its exit status comes through.
. "$(dirname "$0")/shell.sh"
need unshare
contained=$source_dir/scripts/contained.sh

equal "$(COX_CONTAINED=0 status "$contained" sh -c 'exit 7')" 7 "exit status where nobody asks for it"
equal "$(status "$contained" sh -c 'exit 5')" 5 "exit status"
! grep -q 'no PID namespace' "$work/err" || skip "$(cat "$work/err")"

"$contained" sh -c 'ls /proc | grep -c "^[0-9]"' >"$work/seen"
[ "$(cat "$work/seen")" -le 6 ] || fail "it sees $(cat "$work/seen") processes"
COX_CONTAINED=0 "$contained" test -e "/proc/$$" || fail "without a namespace this process is not seen"

# Somebody left behind, in a session of its own, notes that it is there for as long as it is.
"$contained" sh -c "setsid sh -c 'while :; do date >$work/alive; sleep 0.05; done' >/dev/null 2>&1 &
  until [ -s $work/alive ]; do sleep 0.02; done"
rm "$work/alive"
sleep 0.3
[ ! -e "$work/alive" ] || fail "a process outlived the command"

if [ "$(id -u)" = 0 ]; then
  "$contained" touch "/run/netns/cox-contained-$$"
  [ ! -e "/run/netns/cox-contained-$$" ] || fail "names of networks are shared with the host"
fi
