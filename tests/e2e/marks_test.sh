#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The C API: steps, phases and collectives marked by hand are found as marked; without cox the marks change nothing.
. "$(dirname "$0")/shell.sh"
need python3
equal "$(status "$build/examples/marks" 60)" 0 "exit status without cox"
cp "$work/out" "$work/plain"
equal "$(status "$cox" observe -o "$work/run" -- "$build/examples/marks" 60)" 0 "exit status under cox"
cat "$work/err"
diff "$work/plain" "$work/out" || fail "the output differs"
equal "$(status "$cox" diagnose "$work/run" --json)" 0 "exit status of diagnose"
cp "$work/out" "$work/diagnosis.json"
equal "$(json "$work/diagnosis.json" '[x["steps"] for x in r["ranks"]]')" "[60, 60, 60, 60]" "steps"
equal "$(json "$work/diagnosis.json" '[x["collectives"] for x in r["ranks"]]')" "[60, 60, 60, 60]" "collectives"
equal "$(json "$work/diagnosis.json" '[(c["size"], c["collectives"], c["bytes"]) for c in r["communicators"]]')" \
  "[[4, 60, $((60 * 1024 * 8))]]" "communicators"
equal "$(json "$work/diagnosis.json" 'r["findings"][0]["rank"]')" 2 "rank of the first finding"

# Who marks and does not say its rank is told that, and not that nothing was observed.
equal "$(NO_RANK=1 status "$cox" observe -o "$work/nobody" -- "$build/many_marks" 1 20)" 0 "exit status without a rank"
grep -q "1 process recorded into .*/nobody without saying which rank" "$work/err" || fail "not told: $(cat "$work/err")"
