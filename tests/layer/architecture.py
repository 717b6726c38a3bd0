#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""architecture.py ROOT: the two tables of ARCHITECTURE.md say what cmake/check_layers.cmake holds, and no room may use what it does not.

Rooms: `| \\`room\\` | ... | may use, beside base |`; remarks stand in round brackets, `all but x, y` is all others.
Sub-rooms: `| room | \\`folder\\`, ... | what it does |`; an empty room is that of the row above.
"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
page = (root / "ARCHITECTURE.md").read_text(encoding="utf-8")
law = (root / "cmake/check_layers.cmake").read_text(encoding="utf-8")
INCLUDE = re.compile(r"^\s*#\s*include\s*[<\"]cox/([a-z_]+)/", re.MULTILINE)
SOURCES = {".cpp", ".hpp", ".h", ".c", ".inc", ".S"}


def fail(message):
    sys.exit(f"{message}: the search is broken")


rooms = re.search(r"^set\(rooms ([^)]*)\)", law, re.MULTILINE)[1].split()
may = {room: set(re.search(rf"^set\({room}_may([^)]*)\)", law, re.MULTILINE)[1].split()) for room in rooms}
folders = {tuple(name.rsplit("/", 1)) for name in re.findall(r"^set\(([a-z_/]+/[a-z_]+)_may ", law, re.MULTILINE)}

told = {}
for room, uses in re.findall(r"^\| `(\w+)` \| .* \| ([^|]*) \|$", page, re.MULTILINE):
    uses = re.sub(r"\([^)]*\)", "", uses).strip()
    others = set(rooms) - {room, "base"}
    listed = {word.strip() for word in re.sub("^all but ", "", uses).split(",")} - {"nothing"}
    told[room] = others - listed if uses.startswith("all but ") else listed
if not told:
    fail("no row of a room in ARCHITECTURE.md")

wrong = [f"ARCHITECTURE.md: no row for {room}" for room in rooms if room not in told]
wrong += [f"ARCHITECTURE.md: a row for {room}, which is no room" for room in told if room not in rooms]
for room in [r for r in rooms if r in told]:
    wrong += [f"ARCHITECTURE.md: {room} may use {use}, and its row does not say so"
              for use in sorted(may[room] - {"base"} - told[room])]
    wrong += [f"ARCHITECTURE.md: the row of {room} says {use}, which it may not use" for use in sorted(told[room] - may[room])]

# What may be used is used: a line that nobody needs lets the next arrow in unseen.
used = {room: set() for room in rooms}
for top in (root / "src", root / "include/cox"):
    for file in top.rglob("*"):
        room = file.relative_to(top).parts[0]
        if file.suffix in SOURCES and room in used:
            used[room] |= set(INCLUDE.findall(file.read_text(encoding="utf-8")))
wrong += [f"cmake/check_layers.cmake: {room} may use {use}, and no file of it does"
          for room in rooms for use in sorted(may[room] - used[room])]

described = set()
above = ""
for line in page.split("### Sub-rooms", 1)[-1].split("\n### ", 1)[0].splitlines():
    cells = re.fullmatch(r"\| ([\w/]*) ?\| (`[a-z_]+`(?:, `[a-z_]+`)*) \| .+ \|", line)
    if cells:
        above = cells[1] or above
        described |= {(above, folder) for folder in re.findall(r"`([a-z_]+)`", cells[2])}
if not described:
    fail("no row of a sub-room in ARCHITECTURE.md")
wrong += [f"ARCHITECTURE.md: no row for the folder {room}/{folder}" for room, folder in sorted(folders - described)]
wrong += [f"ARCHITECTURE.md: a row for {room}/{folder}, which has no line in cmake/check_layers.cmake"
          for room, folder in sorted(described - folders)]
# A folder that neither says anything of is one that nobody drew.
drawn = {pathlib.PurePosixPath(room, folder) for room, folder in folders} | {pathlib.PurePosixPath(room) for room in rooms}
for folder in sorted(p for p in (root / "src").rglob("*") if p.is_dir()):
    inside = pathlib.PurePosixPath(folder.relative_to(root / "src").as_posix())
    if inside not in drawn and any(f.suffix in SOURCES for f in folder.iterdir()):
        wrong.append(f"src/{inside}: no line in cmake/check_layers.cmake")
print("\n".join(wrong) or f"{len(rooms)} rooms and {len(folders)} folders, as drawn")
sys.exit(1 if wrong else 0)
