#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the point-to-point sums of an observed mpi_calls against the ring of messages that it passes: each rank sends
9 messages of 400 bytes to the next one, rank 0 three more of 4 bytes to rank 1, and rank 1 its report of 24 bytes to
rank 0.

usage: mpi_peers.py TRACE.json RANKS      (a trace of `cox export --to perfetto`)
"""
import collections
import json
import sys

ranks = int(sys.argv[2])
found = collections.Counter()
for event in json.load(open(sys.argv[1]))["traceEvents"]:
    if event.get("cat") == "messages":
        key = (event["pid"], event["name"], event["args"]["peer"])
        found[key + ("messages",)] += event["args"]["messages"]
        found[key + ("bytes",)] += event["args"]["bytes"]
expected = collections.Counter()
for rank in range(ranks):
    for name, peer in (("sends", (rank + 1) % ranks), ("receives", (rank + ranks - 1) % ranks)):
        expected[(rank, name, peer, "messages")] += 9
        expected[(rank, name, peer, "bytes")] += 9 * 400
for key in ((0, "sends", 1), (1, "receives", 0)):
    expected[key + ("messages",)] += 3
    expected[key + ("bytes",)] += 3 * 4
for key in ((1, "sends", 0), (0, "receives", 1)):
    expected[key + ("messages",)] += 1
    expected[key + ("bytes",)] += 24
assert found == expected, f"found {dict(found - expected)} too many, {dict(expected - found)} too few"
print("messages with each peer as the program passed them:", len(found) // 2, "pairs and directions")
