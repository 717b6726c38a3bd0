#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./cox-demo names the rank that was made slow, and nobody where nobody was. usage: ... RANK|none [--torch]
. "$(dirname "$0")/shell.sh"
need python3
rank=$1
shift
[ "${1:-}" != --torch ] || need_torch

code=$(status "$source_dir/cox-demo" --build "$build" --out "$work/demo" --slow-rank "$rank" "$@")
cat "$work/out" "$work/err"
equal "$code" 0 "exit status"
[ -s "$work/demo/report.html" ] || fail "no report"
diagnosis=$work/demo/diagnosis.json
equal "$(json "$diagnosis" 'd["schema"]')" cox.diagnose/1 "schema"
equal "$(json "$diagnosis" 'r["coverage"]')" 1.0 coverage
if [ "$rank" = none ]; then
  equal "$(json "$diagnosis" 'r["findings"]')" "[]" "findings"
  [ $# -gt 0 ] || /usr/bin/python3 "$source_dir/tests/e2e/forecast_check.py" "$cox" "$work/demo/run" 8 run
else
  equal "$(json "$diagnosis" 'r["findings"][0]["rank"]')" "$rank" "rank of the first finding"
  equal "$(json "$diagnosis" 'r["findings"][0]["ranks"]')" "[$rank]" "ranks of the first finding"
fi
grep -q 'loss: ' "$work/out" || fail "the job's own output is missing"
