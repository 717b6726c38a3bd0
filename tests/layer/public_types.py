#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""public_types.py ROOT: a type in a public header is there because another room needs it; else it lies beside its source.

Needed: named by a file of another room (an unscoped enumeration: by one of its values), or by a type that is needed, or
by a function in a public header that another room or the program of tests/install names. What other tests, benchmarks and fuzzers alone name is no reason. Words are compared, not meanings: a namesake
elsewhere hides a type that nobody needs, and nothing that is needed is found fault with.
"""
import collections
import pathlib
import re
import sys

SOURCES = {".cpp", ".hpp", ".h", ".c", ".inc", ".S"}
OPENS = re.compile(r"namespace[\w:\s]*\{|\b(?:struct|class|enum class|enum)\s+(\w+)(?:\s+final)?\s*(?::[^{;=()]*)?\{|[{}]")

# Public without another room's use, and why.
EXCEPTIONS = {"ListedProcesses": "stands for a machine in the tests of three rooms"}

root = pathlib.Path(sys.argv[1])
public = root / "include/cox"


def bare(text):
    """Without comments and what strings hold."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    return re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)


def parted(text):
    """The types of a header that stand in a namespace, as name -> text; and the text around them."""
    types, opened, around, end = {}, [], [], 0
    for found in OPENS.finditer(text):
        if found[0] == "}":
            name, begin = opened.pop() if opened else (None, 0)
            if name:
                types[name] = text[begin : found.end()]
                around.append(text[end:begin])
                end = found.end()
        elif found[0].startswith("namespace"):
            opened.append((None, 0))
        elif found[1] and all(inner == (None, 0) for inner in opened):
            opened.append((found[1], found.start()))
        else:
            opened.append(("", 0))
    return types, "".join((*around, text[end:]))


words_of_room = collections.defaultdict(set)
for folder in (public, root / "src", root / "tests/install"):
    for file in folder.rglob("*"):
        if file.suffix in SOURCES and not file.name.endswith("_test.cpp"):
            words_of_room[file.relative_to(folder).parts[0]].update(re.findall(r"\w+", bare(file.read_text(encoding="utf-8"))))

homes, texts, needed = {}, {}, set()
functions = []  # what stands outside of types and is a function: its room, its name, its text
for header in sorted(public.rglob("*.hpp")):
    name = header.relative_to(public)
    types, around = parted(bare(header.read_text(encoding="utf-8")))
    for word, text in types.items():
        homes[word], texts[word] = name.as_posix(), text
    for statement in re.split(r"[;{}]", around):
        if call := re.search(r"\b(\w+)\s*\(", statement):
            functions.append((name.parts[0], call[1], statement))
if not homes:
    sys.exit(f"no type found under {public}: the search is broken")


def named_elsewhere(room, word):
    return any(word in words for other, words in words_of_room.items() if other != room)


for word, home in homes.items():
    values = re.findall(r"\w+", texts[word]) if re.match(r"enum\s+(?!class)", texts[word]) else [word]
    if any(named_elsewhere(home.split("/", maxsplit=1)[0], value) for value in values):
        needed.add(word)
for room, word, statement in functions:
    if named_elsewhere(room, word):
        needed.update(set(re.findall(r"\w+", statement)) & homes.keys())
while more := {w for n in needed for w in re.findall(r"\w+", texts[n]) if w in homes} - needed:
    needed |= more
wrong = [f"{home}: {word} is needed by no other room; it lies beside its source" for word, home in homes.items()
         if word not in needed and word not in EXCEPTIONS]
wrong += [f"{word}: an exception that is not needed" for word in EXCEPTIONS if word in needed or word not in homes]
print("\n".join(wrong) or f"{len(homes)} public types, each needed by another room")
sys.exit(1 if wrong else 0)
