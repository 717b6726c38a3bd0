#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""observing_tables_test.py COX SOURCE [--update]: the tables of docs/concepts/observing.md about jobs larger than any that
was measured are what `cox simulate` and a count say. --update rewrites them."""
import json
import pathlib
import re
import subprocess
import sys

cox, source = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
page = source / "docs" / "concepts" / "observing.md"
scenario = source / "examples" / "scenarios" / "observer-noise.toml"

# Counted by hand with strace, per rank, `mpirun ... cox observe -- prog`; no test counts them again: system calls
# that name something in the Run's folder or make it durable, from before the job to after it.
OPERATIONS_PER_RANK = 36
RANKS, RANKS_PER_NODE = 64_000, 128
LOOKS_PER_SECOND, OWN_LOOK_SECONDS = 3, 3  # src/guest/writer/keeper.cpp
RECORD_BYTES, SAMPLE_BYTES = 40, 128  # docs/reference/run-format.md


def seconds(nodes, scope, mean):
    done = subprocess.run([cox, "simulate", scenario, "--json", "--set",
                           f"cluster.nodes={nodes},noise.0.scope={scope},noise.0.mean={mean}"],
                          capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)["result"]["total_s"]


def noise_table():
    lines = ["| ranks | moments of each rank's own | the same moments for all |", "|---|---|---|"]
    for nodes in (64, 1024, 16384, 65536):
        alone = seconds(nodes, "global", "1ps")  # a source must add something
        row = [f"{100 * (seconds(nodes, scope, '150us') / alone - 1):.2f} %" for scope in ("rank", "global")]
        lines.append(f"| {nodes:,} | {row[0]} | {row[1]} |")
    return lines


def load_table():
    nodes = RANKS // RANKS_PER_NODE
    lines = [f"| {RANKS:,} ranks on {nodes:,} nodes | before | now |", "|---|---|---|",
             f"| names looked up, made or synchronised, start and end together | grows with its square "
             f"| {RANKS * OPERATIONS_PER_RANK:,} |",
             f"| names in one folder | {RANKS:,} | {max(nodes, RANKS_PER_NODE):,} |",
             f"| looks for a detach, each second | {RANKS * 5 // 2:,} "
             f"| {nodes * LOOKS_PER_SECOND + RANKS // OWN_LOOK_SECONDS:,} |"]
    for events in (10, 100, 1000):
        rate = RANKS * (events * RECORD_BYTES + SAMPLE_BYTES)
        lines.append(f"| bytes each second at {events:,} events a rank and second | the same | {rate / 1e6:,.0f} MB |")
    return lines


text = page.read_text()
wanted = text
for name, table in (("noise", noise_table), ("load", load_table)):
    mark = re.compile(rf"(<!-- {name}: made by tests/golden/observing_tables_test.py -->\n\n).*?(\n\n)", re.S)
    if not mark.search(wanted):
        sys.exit(f"{page.name} has no place for the table {name}")
    wanted = mark.sub(lambda m: m[1] + "\n".join(table()) + m[2], wanted, count=1)
if "--update" in sys.argv[3:]:
    page.write_text(wanted)
elif wanted != text:
    for a, b in zip(text.splitlines(), wanted.splitlines()):
        if a != b:
            print(f"kept: {a}\nmade: {b}")
    sys.exit("the tables are not what the program says; run: ninja golden_update")
