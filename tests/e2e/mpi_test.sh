#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# An Open MPI job: output as without us; ranks, collectives and bytes as the program itself counted them.
. "$(dirname "$0")/shell.sh"
need mpirun.openmpi python3
[ -x "$build/examples/mpi_train" ] || skip "mpi_train was not built (package libopenmpi-dev)"
job=(mpirun.openmpi --allow-run-as-root --oversubscribe -n 4 "$build/examples/mpi_train")

equal "$(status "${job[@]}")" 0 "exit status without cox"
cp "$work/out" "$work/plain"
code=$(status "$cox" observe -o "$work/r1" -- "${job[@]}")
cat "$work/err"
equal "$code" 0 "exit status under cox"
diff "$work/plain" "$work/out" || fail "the output differs"

code=$(status "$cox" diagnose "$work/r1" --json)
equal "$code" 0 "exit status of diagnose"
cp "$work/out" "$work/diagnosis.json"
/usr/bin/python3 - "$work/diagnosis.json" "$work/plain" <<'PY'
import json, re, sys
r = json.load(open(sys.argv[1]))["result"]
assert r["coverage"] == 1.0, (r["coverage"], r["coverage_detail"])
assert [x["rank"] for x in r["ranks"]] == [0, 1, 2, 3], r["ranks"]
printed = {}
for m in re.finditer(r"communicator (\S+) \(ranks ([\d,]+)\): (\d+) ranks, (\d+) collectives, (\d+) bytes",
                     open(sys.argv[2]).read()):
    printed[m[1]] = (int(m[3]), int(m[4]), int(m[5]))
assert set(printed) == {"world", "half-0", "half-1"}, printed
found = sorted((c["size"], c["collectives"], c["bytes"]) for c in r["communicators"] if c["collectives"])
assert found == sorted(printed.values()), (found, printed)
print("communicators as counted by the program:", found)
PY
