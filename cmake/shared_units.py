#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Which sources are compiled together as one unit: `shared_units.py LINES SOURCE...` prints `NUMBER SOURCE` per line.

Two files share a unit only where neither mentions a name that the other keeps to itself (in anonymous namespaces, as a
macro): so nothing is defined twice, and no call finds another function than it finds where the file is compiled alone.
Files of one folder come together where they can; a unit ends at LINES lines.
"""
import re
import sys

ANONYMOUS = re.compile(r"^namespace \{\n(.*?)^\}  // namespace$", re.S | re.M)
NOT_CODE = re.compile(r'//[^\n]*|R"\(.*?\)"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'', re.S)
TYPE = re.compile(r"(?:struct|class|enum class|enum)\s+(\w+)")
KEYWORDS = {"const", "noexcept", "override", "static_assert", "sizeof", "decltype", "alignas", "defined"}
BEFORE_A_MENTION = r"(?<![\w.])(?<!->)(?<!::)"


class Source:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.path, self.lines = path, text.count("\n")
        code = NOT_CODE.sub(" ", text)
        self.mentions = set(re.findall(BEFORE_A_MENTION + r"[A-Za-z_]\w*", code))
        self.calls = set(re.findall(BEFORE_A_MENTION + r"([A-Za-z_]\w*)\s*\(", code))
        self.names = set(re.findall(r"^#\s*define (\w+)", text, re.M))  # types, constants, variables, macros
        self.aliases = set()  # whole lines: the same one twice is no harm
        self.functions = set()
        self.opened = {n for n in re.findall(r"^using namespace ([\w:]+);", text, re.M) if not n.endswith("literals")}
        for body in ANONYMOUS.findall(text):
            for line in NOT_CODE.sub(" ", body).split("\n"):
                if line[:1].isalpha() or line[:1] in ("_", "["):  # definitions begin at the left margin
                    self.add(line)

    def add(self, line):
        if re.match(r"(using|namespace) \w+ = ", line):
            self.aliases.add(line.rstrip())
            return
        if line.startswith("using "):
            return  # names what others declare
        if TYPE.match(line):
            self.names.add(TYPE.match(line).group(1))
            return
        self.functions.update(w for w in re.findall(r"([A-Za-z_]\w*)\(", line) if not w.isupper())
        self.names.update(re.findall(r"([A-Za-z_]\w*)\s*(?:[={;\[]|$)", line))
        self.functions -= KEYWORDS
        self.names -= KEYWORDS

    def disturbs(self, other):
        if self.opened - other.opened:
            return True
        aliases = {line.split()[1] for line in self.aliases - other.aliases}
        same = {line.split()[1] for line in self.aliases & other.aliases}
        return ((self.names | aliases) - same) & other.mentions or self.functions & other.calls


def units_of(sources, most_lines):
    units = []
    for source in sources:
        for unit in units:
            if sum(s.lines for s in unit) + source.lines <= most_lines and not any(
                    s.disturbs(source) or source.disturbs(s) for s in unit):
                unit.append(source)
                break
        else:
            units.append([source])
    return units


for number, unit in enumerate(units_of([Source(path) for path in sorted(sys.argv[2:])], int(sys.argv[1]))):
    for source in unit:
        print(number, source.path)
