#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What each room costs to build and to test: the table of CONTRIBUTING.md.

usage: costs.py [--write] [BUILD]     (build/release; --write puts the table into CONTRIBUTING.md)

Job-seconds of the last build of every object that still exists, from ninja's log, and seconds of every test, from the log of
./cox-test.
They are worth something where nothing else ran: build and test from nothing, without a compiler cache, on an idle machine:
  CCACHE_DISABLE=1 ./cox-test && scripts/costs.py --write
"""
import collections
import datetime
import os
import pathlib
import re
import sys

arguments = [a for a in sys.argv[1:] if a != "--write"]
build = pathlib.Path(arguments[0] if arguments else "build/release")


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
    """Name of a test to its seconds, by what ./cox-test logged: ctest's own costs begin with what a test is said to cost."""
    log = build.parent / "log" / f"test-{build.name}.log"
    if not log.exists():
        return {}
    ended = re.findall(r"Test +#\d+: (.+?) \.*(?:\*\*\*\w+)? +(?:Passed)? +([\d.]+) sec$", log.read_text(errors="replace"), re.M)
    return {name: float(seconds) for name, seconds in ended}


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
    return parts[1], "tests" if "_test.dir/" in path else "code"


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
    lines = [f"Measured {datetime.date.today()} on {os.cpu_count()} cores, in job-seconds:", "",
             "| what | objects | compiling | compiling its tests | running its tests |", "|---|---:|---:|---:|---:|"]
    total = collections.Counter()
    for room, row in sorted(table.items(), key=lambda item: -sum(item[1][c] for c in ("code", "tests", "run"))):
        total.update(row)
        lines.append(f"| {room} | {row['files'] or ''} | {row['code']:.0f} | {row['tests']:.0f} | {row['run']:.0f} |")
    lines.append(f"| all | {total['files']} | {total['code']:.0f} | {total['tests']:.0f} | {total['run']:.0f} |")
    text = "\n".join(lines)
    print(text)
    if "--write" in sys.argv[1:]:
        page = pathlib.Path(__file__).resolve().parent.parent / "CONTRIBUTING.md"
        old = page.read_text()
        new, found = re.subn(r"Measured [-0-9]+ on .*?\n(?=\n[^|\n])", lambda _: text + "\n", old, flags=re.S)
        if found != 1:
            sys.exit(f"costs.py: no table to replace in {page}")
        page.write_text(new)


main()
