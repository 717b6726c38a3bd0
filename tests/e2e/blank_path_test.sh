#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installed where the path has a blank, and observed from there: LD_PRELOAD splits at blanks.
. "$(dirname "$0")/shell.sh"
place="$work/my tools"
mkdir "$place"
cp "$cox" "$build"/libcox-*.so "$place"
export XDG_CACHE_HOME="$work/cache"
equal "$(status "$place/cox" observe -o "$work/run" -- "$build/many_marks" 2 500)" 0 "exit status"
equal "$(status "$cox" diagnose "$work/run" --json)" 0 "exit status of diagnose"
/usr/bin/python3 - "$work/out" <<'PY'
import json, sys
ranks = json.load(open(sys.argv[1]))["result"]["ranks"]
assert [r["collectives"] for r in ranks] == [500, 500], ranks
PY
