#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""sizes.py ROOT: no folder of sources holds more than 40 of them, and no source has more than 600 lines.

What is more is several things: part it by what they are (docs/design/0012-the-house.md), not by counting.
"""
import collections
import pathlib
import sys

MOST_FILES = 40
MOST_LINES = 600
SOURCES = {".cpp", ".hpp", ".h", ".c", ".cc", ".S", ".inc", ".def", ".in", ".py", ".sh", ".cmake", ".f90", ".F90"}
LARGER = {"tests/e2e": 84}  # folders that are not parted yet; they may not grow

root = pathlib.Path(sys.argv[1])
files = collections.Counter()
wrong = []
for top in ("src", "include", "tests"):
    for path in sorted((root / top).rglob("*")):
        if not path.is_file() or not (path.suffix in SOURCES or path.name == "CMakeLists.txt"):
            continue
        files[str(path.parent.relative_to(root))] += 1
        lines = path.read_bytes().count(b"\n")
        if lines > MOST_LINES:
            wrong.append(f"{path.relative_to(root)} has {lines} lines, at most {MOST_LINES} are read in one go")
if not files:
    sys.exit(f"no source found under {root}: the search is broken")
for folder, count in sorted(files.items()):
    most = LARGER.get(folder, MOST_FILES)
    if count > most:
        wrong.append(f"{folder} holds {count} sources, at most {most} are overseen: part it")
    elif folder in LARGER and count <= MOST_FILES:
        wrong.append(f"{folder} holds {count} sources: take it out of LARGER in tests/layer/sizes.py")
print("\n".join(wrong) or f"{sum(files.values())} sources in {len(files)} folders")
sys.exit(1 if wrong else 0)
