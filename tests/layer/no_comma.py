#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""no_comma.py ROOT: no comma operator joins two statements: `return a(), b;` and `x = 1, y = 2;`.

clang's -Wcomma knows most of this, but only the presets with clang ask it, and it lets a call of nothing pass.
"""
import pathlib
import re
import sys

TEXTS = re.compile(r'R"\(.*?\)"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'(?!\w)', re.S)
COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
DECLARES = re.compile(r"^(?:const |constexpr |static |inline |auto |for |using |enum |std::|struct |class |case |template|#)")
ASSIGNS = re.compile(r"^(?:if \(.*\) |else )?[\w.\[\]>-]+ [-+*/|]?= |^(?:if \(.*\) |while \(.*\) |for \(.*\) )?(?:\+\+|--)")


def without_inner(statement):
    """Without what brackets of any kind hold, and without template arguments."""
    while True:
        shorter = re.sub(r"\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}", "_", statement)
        if shorter == statement:
            return re.sub(r"<[\w:, ]*>", "", statement)
        statement = shorter


def joined(statement):
    statement = " ".join(statement.split())
    if DECLARES.match(statement) and not statement.startswith("for "):
        return False
    found = re.search(r"(?:^|[\s)])return (.*)$", statement)
    if found:
        return "," in without_inner(found.group(1))
    return bool(ASSIGNS.match(statement)) and re.search(r", *(?:\+\+|--|[\w.\[\]>-]+ [-+*/|]?= )", without_inner(statement)) is not None


root = pathlib.Path(sys.argv[1])
seen, wrong = 0, []
for folder in ("src", "include", "tests", "bench", "examples", "fuzz"):
    for path in sorted((root / folder).rglob("*.[ch]*")):
        if path.suffix not in (".cpp", ".hpp", ".h", ".c"):
            continue
        text = path.read_text(encoding="utf-8")
        blank = lambda m: re.sub(r"[^\n]", " ", m.group())
        text = COMMENTS.sub(blank, TEXTS.sub(lambda m: '"' + re.sub(r"[^\n]", "_", m.group())[2:] + '"', text))
        at = 0
        for statement in re.findall(r"[^;{}]*[;{}]", text):
            seen += 1
            in_for = statement.count(")") > statement.count("(")
            if statement.endswith(";") and not in_for and joined(statement[:-1]):
                line = text.count("\n", 0, at + len(statement) - len(statement.lstrip())) + 1
                wrong.append(f"{path.relative_to(root)}:{line}: {' '.join(statement.split())}")
            at += len(statement)
if not seen:
    sys.exit(f"no statement found under {root}: the search is broken")
print("\n".join(wrong))
sys.exit(1 if wrong else 0)
