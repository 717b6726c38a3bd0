#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""prefetch.py ROOT CXX: memory is fetched ahead by cox::prefetch alone, and a function that does only that is called.

A call that the compiler drops changes no result, only speed: no other test can see it.
"""
import pathlib
import re
import subprocess
import sys

HEADER = "cox/base/prefetch.hpp"
PROGRAM = f"""#include <{HEADER}>
struct S {{
  __attribute__((noinline)) void soon() const {{ cox::prefetch(p); }}
  const int* p;
}};
void use(const S& s) {{ s.soon(); }}
"""

root, compiler = pathlib.Path(sys.argv[1]), sys.argv[2]
wrong = []
for folder in ("src", "include", "bench"):
    for path in sorted((root / folder).rglob("*.[chi]*")):
        if path.relative_to(root).as_posix() == "include/" + HEADER:
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if re.search(r"\b(?:__builtin_prefetch|_mm_prefetch)\b", line):
                wrong.append(f"{path.relative_to(root)}:{number}: use cox::prefetch ({HEADER}) instead")
made = subprocess.run([compiler, "-std=c++20", "-O2", "-S", "-x", "c++", "-", "-o", "-", f"-I{root / 'include'}"],
                      input=PROGRAM, capture_output=True, text=True, check=True).stdout
user = made[made.index("_Z3useRK1S:"):]
if "soon" not in user[:user.index(".size")]:
    wrong.append("a function that only fetches ahead is not called")
sys.exit("\n".join(wrong) or 0)
