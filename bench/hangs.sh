#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ten jobs of each kind that come to a halt, or disagree, or do neither: how many are told as what they are.
# usage: bench/hangs.sh BUILD [ROUNDS]. Method and figures: docs/concepts/hangs.md.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
exec python3 "$here/tests/e2e/hang_test.py" "${1:?usage: bench/hangs.sh BUILD [ROUNDS]}" "$here" "${2:-10}"
