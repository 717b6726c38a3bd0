#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the terminal gets: one screen at any width, in its locale, nothing raw from file names, refusals called by name.
. "$(dirname "$0")/shell.sh"
need python3
make_run=$build/make_run
[ -x "$make_run" ] || skip "make_run was not built"
cd "$work"
"$make_run" --ranks 4 --steps 40 --work 10ms --slow-rank 2 --extra 3ms -o run

# One screen, and no wider than asked.
for columns in 40 55 80; do
  COLUMNS=$columns LC_ALL=C.UTF-8 "$cox" diagnose run >screen
  [ "$(wc -l <screen)" -le 20 ] || fail "more than 20 lines at $columns columns: $(cat screen)"
  wide=$(COLUMNS=$columns LC_ALL=C.UTF-8 "$cox" diagnose run --all | python3 -c "
import sys
print(sum(len(line.rstrip('\n')) > $columns for line in sys.stdin))")
  equal "$wide" 0 "lines of --all beyond $columns columns"
done
grep -q '^! Rank 2 sets the pace' screen || fail "$(cat screen)"
grep -q '^more: cox diagnose run --all$' screen || fail "$(cat screen)"

# Letters of the locale.
LC_ALL=C "$cox" diagnose run --all | LC_ALL=C grep -q '[^ -~]' && fail "letters beyond ASCII in the C locale"
"$make_run" --ranks 3 --steps 40 --work 500us -o small
LC_ALL=C "$cox" diagnose small --all | grep -q ' us' || fail "no microseconds in the C locale"
LC_ALL=C.UTF-8 "$cox" diagnose small --all | grep -q ' µs' || fail "no micro sign in a UTF-8 locale"

# File names with escape sequences and line ends.
name=$'bad\e[2Jname\nnext'
cp -r run "$name"
echo junk >"$name"/$'rank-9\e[31m.cox'
mkdir several
cp -r run several/one
cp -r "$name" "several/$name"
for said in "diagnose $name" "diagnose $name --all" "diagnose several" "diagnose several --all" "diagnose missing$name" \
  "report $name -o $name/page.html" "compact $name"; do
  verb=${said%% *}
  rest=${said#* }
  path=${rest%% -*}
  options=${rest#"$path"}
  # shellcheck disable=SC2086
  case $verb in
    report) "$cox" report "$path" -o page.html --force >out 2>&1 || true ;;
    *) "$cox" "$verb" "$path" $options >out 2>&1 || true ;;
  esac
  LC_ALL=C grep -q $'\e' out && fail "an escape sequence reached the terminal: $verb $(cat -v out)"
  grep -q '^next' out && fail "a line end in a name reached the terminal: $verb $(cat -v out)"
done

# Several runs: one table, then each by name.
"$cox" diagnose several -q >table
grep -q '^one .*named  *2 ' table || fail "$(cat table)"
grep -q -- '--run NAME' table || fail "$(cat table)"
"$cox" diagnose several -q --run one | grep -q '^! Rank 2' || fail "no answer for one of several"
"$cox" diagnose several -q --run o...e | grep -q '^! Rank 2' || fail "no answer for a name as a narrow table cuts it"

# A folder that may not be read is called that.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  chmod 755 "$work"
  mkdir -m 700 closed
  code=0
  setpriv --reuid 65534 --regid 65534 --clear-groups "$cox" diagnose "$work/closed" >out 2>&1 || code=$?
  if ! grep -q 'setpriv:' out; then
    equal "$code" 4 "exit status for a folder without permission"
    grep -q 'Permission denied' out || fail "$(cat out)"
  fi
fi

# Error ids in any case.
"$cox" explain TRACE-002 | grep -q '^trace-002: ' || fail "explain wants small letters"

# --check is content with nobody alone.
equal "$(status "$cox" diagnose run --check)" 1 "--check over a named rank"
"$make_run" --ranks 4 --steps 40 --work 10ms -o even
equal "$(status "$cox" diagnose even --check)" 0 "--check where nobody is named"
"$make_run" --ranks 4 --steps 5 --work 10ms -o short
equal "$(status "$cox" diagnose short --check)" 1 "--check where it cannot be told"
