#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ignored_test.sh BUILD SOURCE LIBRARY PROGRAM: a job whose calls' ignored arguments are null or poisoned, and some of
# whose calls MPI refuses: output (every call's return code) and exit status as without us, and every collective found
# on all its members, those between two groups, too.
. "$(dirname "$0")/shell.sh"
mpi_job "$1" "$build/tests/e2e/$2"

plain=$(status "${job[@]}")
[ "$plain" != 77 ] || skip "this library lacks these functions, or breaks on them without us"
equal "$plain" 0 "exit status without cox"
cp "$work/out" "$work/plain"
code=$(status "$cox" observe -o "$work/run" -- "${job[@]}")
[ "$code" = 0 ] || cat "$work/err"
equal "$code" 0 "exit status under cox"
diff "$work/plain" "$work/out" || fail "the output differs"
equal "$(status "$cox" diagnose "$work/run" --json)" 0 "exit status of diagnose"
/usr/bin/python3 - "$work/out" <<'PYTHON'
import json
import sys

result = json.load(open(sys.argv[1]))["result"]
detail = result["coverage_detail"]
assert result["coverage"] == 1.0 and detail["collectives_mismatched"] == 0, detail
assert detail["collectives_matched"] == detail["collectives_seen"] > 20, detail
print(detail["collectives_matched"], "collectives on all their members")
PYTHON
