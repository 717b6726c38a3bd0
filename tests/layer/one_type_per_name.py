#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""one_type_per_name.py ROOT: no two headers define a type of one name in one namespace, no two public ones a type of one name.

Files that include one of them only would compile, and what the compiler makes of both types under one name (destructors,
containers) would be put together by the linker as if they were the same. One word for two public types of two rooms compiles, and a reader asks which one is meant: words of `cox::NAME`
and of `cox::ROOM::NAME` are held, those deeper (`detail`) are a room's own.
"""
import collections
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
homes = collections.defaultdict(set)
for folder in ("include", "src"):
    for header in sorted((root / folder).rglob("*.hpp")):
        opened = []  # the named namespaces at this line, outermost first
        for line in header.read_text(encoding="utf-8").splitlines():
            if begin := re.match(r"(?:inline )?namespace ([\w:]+) \{$", line):
                opened.append(begin.group(1))
            elif re.match(r"\}  // namespace [\w:]+$", line):
                opened.pop()
            elif kind := re.match(r"(?:struct|class|enum class|enum)\s+(\w+)\b(?! : [\w:]+;$)(?!;$)", line):
                homes["::".join((*opened, kind.group(1)))].add(str(header.relative_to(root)))
if not homes:
    sys.exit(f"no type found under {root}: the search is broken")
several = {name: found for name, found in homes.items() if len(found) > 1}
words = collections.defaultdict(set)
for name, found in homes.items():
    if name.count("::") <= 2 and any(home.startswith("include/") for home in found):
        words[name.split("::")[-1]].add(name)
several.update({f"the word {word}": {f"{name} ({min(homes[name])})" for name in names} for word, names in words.items() if len(names) > 1})
for name, found in sorted(several.items()):
    print(f"{name} is defined in {' and in '.join(sorted(found))}")
sys.exit(1 if several else 0)
