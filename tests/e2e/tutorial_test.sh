#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every command of the tutorial and of the how-to pages as they are written, and checks what they promise.
. "$(dirname "$0")/shell.sh"
need python3
[ -x "$build/examples/gloo_train" ] || skip "gloo_train was not built (package libgloo-dev)"

# commands PAGE: the lines of its sh blocks
commands() {
  awk '/^ *```sh$/ { inside = 1; next } /^ *```$/ { inside = 0 } inside { sub(/^ +/, ""); print }' "$1"
}

for page in tutorial/01-find-a-straggler howto/mark-your-own-program; do
  place=$work/$(basename "$page")
  mkdir -p "$place/build"
  ln -s "$build" "$place/build/release"
  commands "$source_dir/docs/$page.md" >"$place/commands"
  [ -s "$place/commands" ] || fail "no commands in $page"
  while IFS= read -r line; do
    echo "\$ $line"
    code=0
    (cd "$place" && bash -c "$line") </dev/null || code=$?
    equal "$code" 0 "exit status of '$line' in $page"
  done <"$place/commands"
done

place=$work/01-find-a-straggler
equal "$(json "$place/diagnosis.json" 'r["findings"][0]["rank"]')" 5 "the rank that the tutorial names"
[ -s "$place/report.html" ] || fail "the tutorial's report is missing"
(cd "$place" && build/release/cox diagnose quiet --json) >"$work/quiet.json"
equal "$(json "$work/quiet.json" 'r["findings"]')" "[]" "findings where nobody is slow"
