#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What each room costs to build and to test, as the table of CONTRIBUTING.md.

usage: costs.py [BUILD]     (build/release)

Job-seconds of the last build of every object that still exists, from ninja's log, and seconds of every test, from ctest's.
They are worth something where nothing else ran: build and test from nothing, without a compiler cache, on an idle machine:
  CCACHE_DISABLE=1 ./cox-test && scripts/costs.py
"""
import collections
import pathlib
import sys

build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/release")


def seconds_of_objects():
    """Path of an object to what its last compilation took; a log holds one line per time that it was made."""
    last = {}
    log = build / ".ninja_log"
    for line in log.read_text().splitlines()[1:]:
        fields = line.split("\t")
        if len(fields) >= 4 and (build / fields[3]).exists():
            last[fields[3]] = (int(fields[1]) - int(fields[0])) / 1000
    return last


def seconds_of_tests():
    """Name of a test to its seconds: lines `name runs seconds` up to a line of dashes."""
    took = {}
    costs = build / "Testing" / "Temporary" / "CTestCostData.txt"
    if not costs.exists():
        return took
    for line in costs.read_text().splitlines():
        if line.startswith("---"):
            break
        name, _, seconds = line.rsplit(maxsplit=2)
        took[name] = float(seconds)
    return took


def room_of_object(path):
    """Room and column of an object, a header that is compiled alone or once for all, a library or a program."""
    parts = path.split("/")
    if "cmake_pch" in path:
        return "headers compiled once", "code"
    if not path.endswith(".o"):
        return "links and the rest", "code"
    if "_verify_interface_header_sets" in path:
        return "public headers alone", "tests"
    if parts[0] != "src":
        return "/".join(parts[:2]) if parts[0] == "tests" else parts[0], "tests"
    return parts[1], "tests" if path.endswith("_test.cpp.o") else "code"


def room_of_test(name, rooms):
    family, _, rest = name.partition("/")
    if family != "unit":
        return {"browser": "tests/report"}.get(family, "tests/" + family)
    target = rest.split("/")[0]
    return max((r for r in rooms if target == r or target.startswith(r + "_")), key=len, default="tests/" + family)


def main():
    if not (build / ".ninja_log").exists():
        sys.exit(f"costs.py: no .ninja_log in {build}: build it first")
    table = collections.defaultdict(lambda: collections.Counter())
    for path, seconds in seconds_of_objects().items():
        room, column = room_of_object(path)
        table[room][column] += seconds
        table[room]["files"] += path.endswith(".o")
    rooms = [r for r in table if "/" not in r and " " not in r]
    for name, seconds in seconds_of_tests().items():
        table[room_of_test(name, rooms)]["run"] += seconds
        table[room_of_test(name, rooms)]["entries"] += 1
    print("| what | files | compiling (s) | compiling its tests (s) | running its tests (s) |")
    print("|---|---:|---:|---:|---:|")
    total = collections.Counter()
    for room, row in sorted(table.items(), key=lambda item: -sum(item[1][c] for c in ("code", "tests", "run"))):
        total.update(row)
        print(f"| {room} | {row['files'] or ''} | {row['code']:.0f} | {row['tests']:.0f} | {row['run']:.0f} |")
    print(f"| all | {total['files']} | {total['code']:.0f} | {total['tests']:.0f} | {total['run']:.0f} |")


main()
