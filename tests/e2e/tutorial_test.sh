#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every command of the tutorial and of the how-to pages as they are written, and checks what they promise.
. "$(dirname "$0")/shell.sh"
need python3
[ -x "$build/examples/gloo_train" ] || skip "gloo_train was not built (package libgloo-dev)"

# Each page's sh blocks are run line by line; a text block behind one is held against what its last line printed: words
# as they stand, any number for a number, anything for `...`. Exit status 75: a page names a rank, and the machine was so
# busy that nobody could be named.
run_page() {
  python3 - "$1" "$2" <<'PYTHON'
import re
import subprocess
import sys

page, place = sys.argv[1:]


def plain(text):
    return re.sub(r"\d[\d .]*\d|\d", "N", re.sub(r"\s+", " ", text))


said, commands, quotes = "", 0, 0
for kind, block in re.findall(r"^ *```(sh|text)$(.*?)^ *```$", open(page).read(), re.MULTILINE | re.DOTALL):
    if kind == "sh":
        for line in filter(None, (line.strip() for line in block.splitlines())):
            print("$", line, flush=True)
            done = subprocess.run(["bash", "-c", line], cwd=place, stdin=subprocess.DEVNULL, capture_output=True, text=True)
            print(done.stdout + done.stderr, flush=True)
            assert done.returncode == 0, f"exit status {done.returncode} of {line!r} in {page}"
            said, commands = done.stdout + done.stderr, commands + 1
        continue
    rest, quotes = plain(said), quotes + 1
    for piece in filter(None, (plain(piece).strip() for piece in block.split("..."))):
        if piece not in rest and "sets the pace" in piece and said.startswith(("= Nobody", "? Cannot tell")):
            print(subprocess.run(["bash", "-c", line + " --all"], cwd=place, capture_output=True, text=True).stdout, flush=True)
            sys.exit(75)
        assert piece in rest, f"{page} quotes {piece!r}; not in {rest!r}"
        rest = rest[rest.index(piece) + len(piece):]
assert commands, f"no commands in {page}"
print(f"{page}: {commands} commands, {quotes} quotes")
PYTHON
}

# A neighbour on the machine may hide a straggler once; a wrong name, or nobody twice, fails.
try_page() {
  place=$work/$(basename "$1")
  rm -rf "$place"
  mkdir -p "$place/build"
  ln -s "$build" "$place/build/release"
  ln -s "$source_dir/examples" "$place/examples"
  run_page "$source_dir/docs/$1.md" "$place"
}

for page in tutorial/01-find-a-straggler tutorial/02-will-it-scale tutorial/03-which-policy tutorial/04-from-ddp-to-fsdp howto/mark-your-own-program howto/check-a-claim; do
  try_page "$page" && continue
  [ $? = 75 ] || fail "$page"
  echo "nobody was named: once more"
  try_page "$page" || fail "$page"
done

place=$work/01-find-a-straggler
equal "$(json "$place/diagnosis.json" 'r["findings"][0]["rank"]')" 5 "the rank that the tutorial names"
[ -s "$place/report.html" ] || fail "the tutorial's report is missing"
(cd "$place" && build/release/cox diagnose quiet --json) >"$work/quiet.json"
equal "$(json "$work/quiet.json" 'r["findings"]')" "[]" "findings where nobody is slow"
