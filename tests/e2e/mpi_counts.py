#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Holds what `cox diagnose --json` says of each communicator against what the program printed itself:
"communicator NAME[ (ranks ...)]: N ranks, N collectives, N bytes".

usage: mpi_counts.py DIAGNOSIS.json PROGRAM-OUTPUT RANKS
"""
import json
import re
import sys

result = json.load(open(sys.argv[1]))["result"]
ranks = int(sys.argv[3])
assert result["coverage"] == 1.0, (result["coverage"], result["coverage_detail"])
assert [r["rank"] for r in result["ranks"]] == list(range(ranks)), result["ranks"]
pattern = r"communicator (\S+?)(?: \(ranks [\d,]+\))?: (\d+) ranks, (\d+) collectives, (\d+) bytes"
printed = sorted((int(m[2]), int(m[3]), int(m[4])) for m in re.finditer(pattern, open(sys.argv[2]).read()))
assert printed, "the program printed no counts"
found = sorted((c["size"], c["collectives"], c["bytes"]) for c in result["communicators"] if c["collectives"])
assert found == printed, f"found {found}, printed {printed}"
assert result["coverage_detail"]["collectives_mismatched"] == 0, result["coverage_detail"]
print("communicators as counted by the program:", found)
