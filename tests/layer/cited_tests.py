#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every file that a docstring says it is "Held by:" exists.

usage: cited_tests.py TREE
Exit status 1, with a line per file, where one does not; the test itself is tested by a name that is not there.
"""
import pathlib
import re
import sys

CITED = re.compile(r"Held by:((?:[^\n]*\n\s*(?:///|//|\*)?)*?[^\n]*?)(?=\*/|\n\s*(?!///|//|\*)|\n\s*///\s*\n|\Z)")
FILE = re.compile(r"\b(?:src|tests|bench|fuzz)/[\w./-]+\.(?:cpp|c|py|sh|cmake|golden)\b")


def missing(text, tree):
    return [file for cited in CITED.finditer(text) for file in FILE.findall(cited[1]) if not (tree / file).exists()]


tree = pathlib.Path(sys.argv[1])
assert missing("/// Held by: tests/layer/no_such_test.cpp\nint f();", tree) == ["tests/layer/no_such_test.cpp"]
assert missing("/// Held by: tests/layer/promises.py,\n/// src/no_such_test.cpp (that)\nint f();", tree) == ["src/no_such_test.cpp"]
cited = 0
wrong = []
for folder in ("include", "src"):
    for path in sorted((tree / folder).rglob("*")):
        if path.suffix in (".h", ".hpp", ".cpp", ".c"):
            text = path.read_text(encoding="utf-8")
            cited += text.count("Held by:")
            wrong += [f"{path.relative_to(tree)}: {file} does not exist" for file in missing(text, tree)]
print("\n".join(wrong) or f"{cited} citations, each of a file that exists")
sys.exit(1 if wrong or cited < 100 else 0)
