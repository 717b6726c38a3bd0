#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What cox observe says at the end is true: ranks that outlive their launcher, a full disk, a folder that cannot be
# written, a job that failed, steps beside an overwritten stretch.
. "$(dirname "$0")/shell.sh"
marks=$build/many_marks
export COX_MAX_OVERHEAD=10000  # many_marks does nothing but mark

# The launcher is gone first, and the ranks a moment later: they are waited for, and counted.
both_began="[ \$(find $work/a -name '*.coxraw' | wc -l) = 2 ]"
"$cox" observe -o "$work/a" --json "$work/a.json" -- sh -c "$marks 2 3000000 & until $both_began; do sleep 0.02; done" 2>"$work/err"
grep -q 'recorded 2 ranks, ' "$work/err" || fail "ranks that outlive their launcher: $(cat "$work/err")"
# They stay: no number is made up for them.
"$cox" observe -o "$work/b" --json "$work/b.json" -- sh -c "$marks 2 1000000000 & echo \$! >$work/pid; sleep 1" 2>"$work/err"
grep -q '2 processes that may still run are not counted yet' "$work/err" || fail "ranks that stay: $(cat "$work/err")"
! grep -q ' 0 events' "$work/err" || fail "$(cat "$work/err")"
equal "$(json "$work/b.json" '[r["events"], r["processes_not_counted"]]')" "[null, 2]" "the same as JSON"
for process in $(cat "/proc/$(cat "$work/pid")/task/$(cat "$work/pid")/children"); do kill -KILL "$process"; done

# Detached before anybody began: that is said, and no other reason.
"$cox" observe -o "$work/f" -- sh -c "until [ -e $work/f/detached ]; do sleep 0.05; done; $marks 2 10" 2>"$work/err" &
until [ -e "$work/f/run.json" ]; do sleep 0.05; done
"$cox" detach "$work/f" | grep -q 'what starts from now on will not either' || fail "detach before the beginning"
wait $!
grep -q 'ended recording before any process began' "$work/err" || fail "detached: $(cat "$work/err")"
! grep -q 'no process used' "$work/err" || fail "detached, and another reason: $(cat "$work/err")"
[ "$(status "$cox" diagnose "$work/f")" = 3 ] || fail "a detached Run without a record can be diagnosed"
grep -q 'ended recording before any process began' "$work/err" || fail "diagnose of it: $(cat "$work/err")"
# A Run that has ended is left as it is.
find "$work/a" >"$work/before"
"$cox" detach "$work/a" | grep -q 'has ended' || fail "detach of an ended Run"
find "$work/a" | cmp -s - "$work/before" || fail "detach of an ended Run changed it"

# The exit status, and who ended first, where cox is behind the launcher.
for rank in 0 1; do
  (
    export OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=2 PMIX_NAMESPACE=4711
    sleep "0.$((5 * rank))"
    status "$cox" observe -q -o "$work/c" -- sh -c "exit $((rank + 4))" >/dev/null
  ) &
done
wait
equal "$(cut -d' ' -f1-3 "$work/c/run.ends")" "$(printf '0 4 0\n1 5 0')" "run.ends"
[ "$(status "$cox" diagnose "$work/c")" = 3 ] || fail "a Run without a record can be diagnosed"
grep -q 'a Run in which nothing was recorded: .*, which ended with status 4 \[trace-005\]' "$work/err" || fail "$(cat "$work/err")"
equal "$(status "$cox" observe -q -o "$work/d" -- sh -c "$marks 2 1000; exit 9")" 9 "exit status"
"$cox" diagnose "$work/d" >"$work/out" 2>/dev/null
grep -q 'ended with status 9; which rank ended first is not recorded' "$work/out" || fail "$(cat "$work/out")"
equal "$(json <("$cox" diagnose --json "$work/d" 2>/dev/null) 'r["ending"]["exit_status"]')" 9 "ending as JSON"

# Of 3 million calls per rank the last ones are there, and the first 4 of 32 chunks, which are not used: no step spans
# what is missing between them.
"$cox" observe -q -o "$work/e" --max-size 1MB -- "$marks" 2 3000000
"$cox" diagnose --json "$work/e" >"$work/e.json" 2>/dev/null
seen=$(json "$work/e.json" 'r["coverage_detail"]["calls_seen"]')
[ "$seen" -gt 50000 ] && [ "$seen" -le $((2 * 28 * 1636)) ] || fail "calls of one stretch: $seen"
# Three million calls in half a second: what the disk did not take in time was dropped, and counted.
equal "$(json "$work/e.json" 'sum(r["coverage_detail"][k] for k in ("calls_seen", "recycled_records", "dropped_records"))')" \
  6000000 "calls in all"

[ "$(id -u)" = 0 ] && command -v unshare >/dev/null || skip "the rest needs root, for a full file system"
full() { unshare -m --propagation private sh -c 'mount -t tmpfs -o size=4k none "$0" && exec "$@"' "$work/small" "$@"; }
mkdir "$work/small"
[ "$(status full true)" = 0 ] || skip "no mount namespace here"
equal "$(status full "$cox" observe -o "$work/small/run" -- "$marks" 2 10)" 0 "the job on a full disk"
grep -q 'no rank could record into .*: No space left on device' "$work/err" || fail "a full disk: $(cat "$work/err")"
full() { unshare -m --propagation private sh -c 'mount -t tmpfs -o size=4m none "$0" && exec "$@"' "$work/small" "$@"; }
equal "$(status full "$cox" observe -o "$work/small/run" -- "$marks" 2 400000)" 0 "a disk that fills during the job"
grep -q 'process\(es\)\? could not write all of it: No space left on device' "$work/err" || fail "a disk that fills: $(cat "$work/err")"
