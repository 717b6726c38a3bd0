#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""public_headers.py ROOT: a header is public because another room uses it; else it lies beside its source.

Used: included by a file of another room, or by a public header that is used. What tests, benchmarks and fuzzers alone
include is no reason: they may include what lies beside a source.
"""
import pathlib
import re
import sys

# Public without another room's use, and why: `"room/header.hpp": "reason"`. None now; abi/observe.h, the API that is
# installed, is used by guest.
EXCEPTIONS = {}
INCLUDE = re.compile(r"^\s*#\s*include\s*[<\"]cox/([^>\"]+)[>\"]", re.MULTILINE)
SOURCES = {".cpp", ".hpp", ".h", ".c", ".inc", ".S"}

root = pathlib.Path(sys.argv[1])
public = root / "include/cox"
includers = {}  # public header -> who includes it, as (room, public header or None)
for folder in (public, root / "src"):
    for file in sorted(folder.rglob("*")):
        if file.suffix not in SOURCES or file.name.endswith("_test.cpp"):
            continue
        inside = file.relative_to(folder)
        header = inside.as_posix() if folder == public else None
        for name in INCLUDE.findall(file.read_text(encoding="utf-8")):
            includers.setdefault(name, set()).add((inside.parts[0], header))

headers = [p.relative_to(public).as_posix() for p in sorted(public.rglob("*")) if p.is_file()]
if not headers:
    sys.exit(f"no public header found under {public}")
used = {h for h in headers if any(room != h.split("/")[0] for room, _ in includers.get(h, ()))}
while more := {h for h in headers if h not in used and any(by in used for _, by in includers.get(h, ()))}:
    used |= more
wrong = [f"{h}: no other room includes it; what only its own room uses lies beside its source" for h in headers
         if h not in used and h not in EXCEPTIONS]
wrong += [f"{h}: an exception that is not needed" for h in EXCEPTIONS if h in used or h not in headers]
print("\n".join(wrong) or f"{len(used)} public headers, each used by another room")
sys.exit(1 if wrong else 0)
