#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""calls.py ROOT: no folder of a parted room calls what is implemented in a folder that it may not see.

cmake/check_layers.cmake reads includes: a header may lie below and what it declares be implemented above (the sentences of
diagnose/words, name tables). Then only who may see the implementation calls it. Names are read, not types: a call is told where
all declarations of its name that the file includes from its own room, however far, are implemented in folders it may not see.
"""
import collections
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
law = (root / "cmake/check_layers.cmake").read_text(encoding="utf-8")
rooms = re.search(r"^set\(parted_rooms ([^)]*)\)", law, re.MULTILINE)[1].split()
may = {name: set(seen.replace('"', "").split()) for name, seen in re.findall(r"^set\(([a-z_/.]+/[a-z_.]+)_may ([^)]*)\)", law, re.MULTILINE)}
tables = {room: dict(line.rsplit(":", 1) for line in lines.split())
          for room, lines in re.findall(r"^set\(([a-z/_]+)_headers\s([^)]*)\)", law, re.MULTILINE)}
# Calls upwards that are not mended yet; none may be added.
LEFT = {
    ("src/diagnose/words/brief.cpp", "lost_ratio"),
    ("src/diagnose/words/verdict.cpp", "lost_ratio"),
    ("src/simulate/attribution/attribution.cpp", "simulate"),
    ("src/simulate/attribution/delay.cpp", "simulate"),
    ("src/simulate/training/training.cpp", "simulate"),
    ("src/trace/store/run_info.cpp", "name_of"),
}
# One free function at the left margin, declared or defined.
FUNCTION = re.compile(r"^(?:\[\[nodiscard\]\] )?(?:inline |constexpr |static |extern )*[A-Za-z_][\w:<>,&* ]*?[\s&*](\w+)\(([^;{}]*?)\)"
                      r"(?: const)?(?: noexcept)?\s*([;{])", re.MULTILINE)
NOT_CODE = re.compile(r"//[^\n]*|/\*.*?\*/|R\"\(.*?\)\"|\"(?:[^\"\\\n]|\\.)*\"", re.DOTALL)
ANONYMOUS = re.compile(r"^namespace \{\n.*?^\}  // namespace$", re.DOTALL | re.MULTILINE)
CALL = re.compile(r"(?<![\w.])(?<!->)(\w+)(?=\()")
INCLUDE = re.compile(r"^\s*#\s*include\s*\"([^\"]+)\"", re.MULTILINE)


def types(parameters):
    """Of `const Run& run, int n = 3`: `constRun& int`, as declaration and definition both have them."""
    found, depth, one = [], 0, ""
    for c in parameters + ",":
        depth += (c in "<({[") - (c in ">)}]")
        if c != "," or depth > 0:
            one += c
            continue
        one = re.sub(r"\w+::", "", " ".join(one.split("=")[0].split()))
        named = re.fullmatch(r"(.*[\s&*>])\w+", one)
        if named and named[1] != "const ":
            one = named[1]
        found.append(one.replace(" ", ""))
        one = ""
    return " ".join(found)


def below(room, folder):
    """What a folder may see, and what these see: a header of one may bring the next."""
    found, left = {folder}, [folder]
    while left:
        more = may[f"{room}/{left.pop()}"] - found
        found |= more
        left += more
    return found


class Source:
    def __init__(self, path):
        text = path.read_text(encoding="utf-8")
        self.shown = path.relative_to(root).as_posix()
        self.includes = INCLUDE.findall(text)
        code = NOT_CODE.sub(" ", text)
        self.calls = set(CALL.findall(code))
        functions = [(m[1], types(m[2]), m[3]) for m in FUNCTION.finditer(code)]
        self.declares = {f[:2] for f in functions if f[2] == ";"}
        self.own = {f[0] for f in functions if f[2] == "{"}
        self.defines = {(m[1], types(m[2])) for m in FUNCTION.finditer(ANONYMOUS.sub("", code)) if m[3] == "{"}


def folder_of(inside):
    parts = pathlib.PurePosixPath(inside).parts
    return parts[0] if len(parts) > 1 else "."


wrong, seen, needed = [], 0, set()
for room in rooms:
    outer = room.split("/")[0]
    headers, sources = {}, {}  # what an include says -> (folder, Source)
    for path in sorted((root / "src" / room).rglob("*")):
        if path.suffix in (".cpp", ".hpp") and not path.name.endswith(("_test.cpp", "for_tests.hpp")):
            kind = headers if path.suffix == ".hpp" else sources
            kind[path.relative_to(root / "src").as_posix()] = (folder_of(path.relative_to(root / "src" / room)), Source(path))
    table = tables.get(room, {})
    for path in sorted((root / "include/cox" / outer).glob("*.hpp")):
        if folder := table.get(path.stem, table.get("*")):
            headers[f"cox/{outer}/{path.name}"] = (folder, Source(path))
    defined = collections.defaultdict(set)  # function -> folders
    for folder, source in [*headers.values(), *sources.values()]:
        for function in source.defines:
            defined[function].add(folder)
    for folder, source in [*sources.values(), *headers.values()]:
        reached, left = set(), [i for i in source.includes if i in headers]
        while left:
            header = left.pop()
            if header not in reached:
                reached.add(header)
                left += [i for i in headers[header][1].includes if i in headers]
        declared = collections.defaultdict(set)  # name -> folders that implement it
        for header in reached:
            for function in headers[header][1].declares:
                declared[function[0]] |= defined.get(function, {"?"})
        seen += len(declared)
        for name in sorted(source.calls & declared.keys() - source.own):
            if declared[name] & (below(room, folder) | {"?"}):
                continue
            if (source.shown, name) in LEFT:
                needed.add((source.shown, name))
            else:
                wrong.append(f"{source.shown}: {name} is implemented in {', '.join(f'{room}/{d}' for d in sorted(declared[name]))},"
                             f" which {room}/{folder} must not see")
wrong += [f"{shown}: {name} is left in tests/layer/calls.py and needed no more" for shown, name in sorted(LEFT - needed)]
if not seen:
    sys.exit("no declaration found: the search is broken")
print("\n".join(wrong) or f"{seen} declarations, each implemented where its callers may see it")
sys.exit(1 if wrong else 0)
