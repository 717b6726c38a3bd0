#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The other faults of ./cox-demo are told apart. usage: ... host|transient|rotating
. "$(dirname "$0")/shell.sh"
need python3
fault=$1
demo() {
  code=$(status "$source_dir/cox-demo" --build "$build" --out "$work/demo" --fault "$fault" --slow-rank 5)
  cat "$work/out" "$work/err"
  equal "$code" 0 "exit status"
}
demo
# Eight ranks on two CPUs: other programs' load can make all of them as uneven as the fault. A wrong name is none of that.
if [ "$(json "$work/demo/diagnosis.json" "len(r['findings'])")" = 0 ]; then
  "$build/cox" diagnose "$work/demo/run" --all
  echo "nobody was named: once more"
  demo
fi
first() { json "$work/demo/diagnosis.json" "r['findings'][0]['$1']"; }
case $fault in
  host)
    equal "$(first kind)" slow_rank "kind"
    equal "$(first rank)" 5 "rank"
    ;;
  transient) # the middle third of 120 steps; its edges may be off by noise
    equal "$(first kind)" transient_straggler "kind"
    equal "$(first rank)" 5 "rank"
    begin=$(first first_step) end=$(first last_step)
    # Steps before and after may be late on a machine that has other work; 10 of 40 steps.
    [ "$begin" -ge 30 ] && [ "$begin" -le 50 ] || fail "first step: got $begin, expected about 40"
    [ "$end" -ge 69 ] && [ "$end" -le 89 ] || fail "last step: got $end, expected about 79"
    ;;
  rotating)
    equal "$(first kind)" rotating_straggler "kind"
    equal "$(first rank)" null "rank"
    ;;
  *) fail "unknown fault $fault" ;;
esac
