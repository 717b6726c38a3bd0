#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""library_headers.py ROOT: a name of a library is used where the header is included that has it in every release.

What Debian 12 finds through another header, the releases after it do not find there.
"""
import pathlib
import re
import sys

RULES = ((r"\bfmt::join\(", "fmt/ranges.h"),)  # fmt 11 took it out of fmt/format.h

root = pathlib.Path(sys.argv[1])
seen, wrong = 0, []
for folder in ("src", "include", "tests", "bench", "examples", "fuzz"):
    for path in sorted((root / folder).rglob("*.[ch]pp")):
        text = path.read_text(encoding="utf-8")
        for name, header in RULES:
            use = re.search(name, text)
            seen += use is not None
            if use and f"#include <{header}>" not in text:
                line = text.count("\n", 0, use.start()) + 1
                wrong.append(f"{path.relative_to(root)}:{line}: {use.group()[:-1]} without #include <{header}>")
if not seen:
    sys.exit(f"no such name is used under {root}: the search is broken")
print("\n".join(wrong))
sys.exit(1 if wrong else 0)
