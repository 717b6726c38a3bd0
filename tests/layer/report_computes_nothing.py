#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report_computes_nothing.py ROOT: fails where `report` would make a number that is a result. It formats what other rooms
found, and it places: only PLACING may calculate, from numbers to pixels, columns of a terminal and bytes. No file of the room
has statistics. What can be read off a line is held: operators, functions, and sums or maxima in a variable of their own."""
import pathlib
import re
import sys

PLACING = {"bars", "columns", "layout", "markup", "pictures"}
NOWHERE = [
    ("statistics", re.compile(r'#include ("cox/base/(stats|resample|quantile_sketch|random)\.hpp"|<numeric>)')),
    ("a sum", re.compile(r"\bstd::(accumulate|reduce|transform_reduce|inner_product|partial_sum|nth_element)\b")),
]
NOT_PLACING = [
    ("a product or quotient", re.compile(r"[\w)\]}] [*/]=? [\w(*-]")),
    ("a ratio", re.compile(r"(?<![\w.>])ratio\(")),
    ("a function of numbers", re.compile(r"\bstd::(pow|exp|expm1|log|log2|log10|log1p|sqrt|cbrt|hypot|fma|midpoint|lerp)\b")),
]
# Axes of pictures go from a least to a most.
BUT_PICTURES = [
    ("a variable that a sum or a maximum is kept in",
     re.compile(r"^\s+(double|float|Duration|Seconds|Bytes|Energy)\s+\w+\s*(=[^;]*|\{[^;]*\});")),
]

root = pathlib.Path(sys.argv[1])
files = [f for f in sorted((root / "src/report").glob("**/*.[ch]pp")) if not f.stem.endswith("_test")]
found = []
for file in files:
    text = file.read_text()
    rules = NOWHERE + ([] if file.stem in PLACING else NOT_PLACING)
    rules += BUT_PICTURES if file.suffix == ".cpp" and file.stem != "pictures" else []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("#"):
            line = re.sub(r"//.*", "", re.sub(r'"(\\.|[^"\\])*"', '""', line))
        for what, rule in rules:
            if rule.search(line):
                found.append(f"{file.relative_to(root)}:{number}: {what}: {line.strip()}; "
                             "report computes nothing, the room that owns the numbers gives this a name")
if not files:
    found.append(f"{root}/src/report: nothing to look at")
print("\n".join(found))
sys.exit(1 if found else 0)
