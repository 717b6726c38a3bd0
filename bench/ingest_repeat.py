#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a large profiler trace out of a real one: its events again and again, each time later.

Usage: ingest_repeat.py TRACE OUT MEGABYTES      (TRACE and OUT may end in .gz)

The text of every event stays as it was but for `ts`, so that the mix of what has to be read and what has to be
passed over is the real one.
"""
import gzip
import json
import re
import sys


def opened(path, mode):
    return gzip.open(path, mode + "t", compresslevel=6) if path.endswith(".gz") else open(path, mode)


def main():
    source, out, megabytes = sys.argv[1], sys.argv[2], float(sys.argv[3])
    with opened(source, "r") as f:
        text = f.read()
    key = re.search(r'"traceEvents"\s*:\s*\[', text)
    first = key.end()
    decoder = json.JSONDecoder()
    _, end = decoder.raw_decode(text, first - 1)
    last = end - 1
    events = text[first:last].rstrip()
    stamps = [float(m) for m in re.findall(r'"ts":\s*(\d+(?:\.\d+)?)', events)]
    span = int(max(stamps) - min(stamps)) + 1000
    pieces = re.split(r'("ts":\s*)(\d+)((?:\.\d+)?)', events)
    size = 0
    turn = 0
    with opened(out, "w") as f:
        f.write(text[:first])
        while size < megabytes * 1e6:
            made = list(pieces)
            for i in range(2, len(made), 4):
                made[i] = str(int(made[i]) + turn * span)
            block = ("," if turn else "") + "".join(made)
            f.write(block)
            size += len(block)
            turn += 1
        f.write(text[last:])


if __name__ == "__main__":
    main()
