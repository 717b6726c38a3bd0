#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Takes the README's picture anew from the report of the latest ./cox-demo. Needs chromium.
set -euo pipefail
me=picture
cd "$(dirname "$(readlink -f "$0")")/.."
. scripts/setup.sh
[ -s demo-out/report.html ] || die $exit_input "no demo-out/report.html; run ./cox-demo first"
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT
mkdir -p docs/images
logged picture chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$profile" \
  --window-size=1100,1650 --screenshot="$PWD/docs/images/report.png" "file://$PWD/demo-out/report.html"
say "took docs/images/report.png"
