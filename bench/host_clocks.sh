#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# host_clocks.sh [BUILD] [RUNS] [SECONDS]: how well clocks of four hosts are found again from a job's collectives, the
# hosts being namespaces of this machine with offsets and drifts that are known. Needs root. The end-to-end test
# host_clocks does the work; here it runs for 60 s, several times.
set -euo pipefail
source_dir=$(readlink -f "$(dirname "$0")/..")
build=$(readlink -f "${1:-$source_dir/build/release}")
runs=${2:-3}
for ((i = 1; i <= runs; ++i)); do
  printf 'run %d of %d, load %s\n' "$i" "$runs" "$(cut -d' ' -f1-3 /proc/loadavg)"
  "$source_dir/tests/e2e/host_clocks_test.sh" "$build" "$source_dir" "${3:-60}"
done
