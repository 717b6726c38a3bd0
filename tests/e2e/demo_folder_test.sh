#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./cox-demo replaces only what it made itself, and says no to what it does not understand.
. "$(dirname "$0")/shell.sh"
demo=$source_dir/cox-demo

mkdir "$work/mine"
echo precious >"$work/mine/file"
equal "$(status "$demo" --build "$build" --out "$work/mine")" 3 "exit status over a foreign folder"
equal "$(wc -l <"$work/err")" 1 "lines of the message"
equal "$(cat "$work/mine/file")" precious "the foreign file"

for arguments in '--slow-rank 8' '--slow-rank x' '--fault slow' '--ranks 1' '--bogus' '--out'; do
  # shellcheck disable=SC2086
  equal "$(status "$demo" --build "$build" $arguments)" 2 "exit status of $arguments"
  equal "$(wc -l <"$work/err")" 1 "lines of the message for $arguments"
done
equal "$(status "$demo" --help)" 0 "exit status of --help"

for _ in first second; do
  equal "$(status "$demo" --build "$build" --out "$work/own" --ranks 2 --steps 12 --slow-rank none)" 0 "exit status"
done
