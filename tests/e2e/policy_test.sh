#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The administrator's policy binds cox observe and the guests, whatever flags and variables say. Its path is fixed when
# cox is built, so the test lays a folder over /etc, in a mount namespace of its own.
. "$(dirname "$0")/shell.sh"
need unshare mount
[ "$(id -u)" = 0 ] || skip "only root can lay a policy there"
marks=$build/many_marks
etc=$work/etc
mkdir "$etc" && cp -a /etc/. "$etc" && mkdir -p "$etc/cox" "$work/allowed" "$work/elsewhere"
under() { unshare -m --propagation private sh -c 'mount --bind "$0" /etc && exec "$@"' "$etc" "$@"; }
[ "$(status under true)" = 0 ] || skip "no mount namespace here: $(cat "$work/err")"
policy=$etc/cox/policy.toml

echo 'pacing = false' >"$policy"
equal "$(status under "$cox" observe --pace auto -o "$work/a" -- true)" 125 "pacing by flag"
grep -q 'pacing is forbidden on this machine \[observe-010\]' "$work/err" || fail "$(cat "$work/err")"
[ ! -e "$work/a" ] || fail "a folder was made"
equal "$(COX_PACE=auto status under "$cox" observe -o "$work/a" -- true)" 125 "pacing by variable"
equal "$(status under "$cox" observe -q -o "$work/a" -- env COX_PACE=auto "$marks" 2 10)" 0 "pacing by a variable inside"
"$cox" diagnose --all "$work/a" >"$work/out" 2>&1 || true
grep -q 'the policy of this machine forbids pacing' "$work/out" || fail "the guest says nothing of it: $(cat "$work/out")"
equal "$(status under "$cox" observe -q --pace off -o "$work/b" -- true)" 0 "no pacing"

echo 'max_size_bytes = 3_000_000' >"$policy"
under "$cox" observe --max-size 100MB -o "$work/c" -- sh -c 'echo "$COX_MAX_SIZE"' >"$work/out" 2>"$work/err"
equal "$(cat "$work/out")" 3000000 "size by flag"
grep -q -- '--max-size 100 MB: .*policy.toml allows 3.00 MB' "$work/err" || fail "$(cat "$work/err")"
# A size set inside the job is cut by the guest: what 200,000 marks leave fits in 3 MB.
under "$cox" observe -o "$work/d" -- env COX_MAX_SIZE=100000000 COX_MAX_OVERHEAD=10000 "$marks" 1 200000 2>"$work/err"
grep -q 'old ones made room' "$work/err" || fail "the guest wrote more than the policy allows: $(cat "$work/err")"

# The bound of the job is kept by the guests alone, which know how many they are.
echo 'max_job_size_bytes = 3_000_000' >"$policy"
under "$cox" observe -o "$work/j" -- env COX_MAX_JOB_SIZE=100000000 COX_MAX_OVERHEAD=10000 "$marks" 1 200000 2>"$work/err"
grep -q 'old ones made room' "$work/err" || fail "the job wrote more than the policy allows: $(cat "$work/err")"

echo "folders = [\"$work/allowed\"]" >"$policy"
equal "$(status under "$cox" observe -o "$work/elsewhere/run" -- true)" 125 "another folder"
ln -s "$work/elsewhere" "$work/allowed/link"
equal "$(status under "$cox" observe -o "$work/allowed/link/run" -- true)" 125 "a link out of it"
equal "$(status under "$cox" observe -q -o "$work/allowed/run" -- "$marks" 1 10)" 0 "an allowed folder"
[ -n "$(ls "$work/allowed/run"/*.cox)" ] || fail "nothing was recorded"
equal "$(status under env LD_PRELOAD="$build/libcox-preload.so" COX_DIR="$work/elsewhere" "$marks" 1 10)" 0 "by hand"
[ -z "$(ls "$work/elsewhere")" ] || fail "a guest started by hand recorded elsewhere"

echo 'pacing = maybe' >"$policy"
equal "$(status under "$cox" observe -o "$work/e" -- true)" 125 "a policy that cannot be read"
grep -q 'line 1: expected true or false \[observe-010\]' "$work/err" || fail "$(cat "$work/err")"
under "$cox" doctor >"$work/out"
grep -q 'missing.*policy .*cannot be obeyed' "$work/out" || fail "doctor does not say it"
echo 'pacing = true' >"$policy" && chmod 666 "$policy"
equal "$(status under "$cox" observe -o "$work/e" -- true)" 125 "a policy that everybody may write"
