#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy on every C++ file, from the configured build alone: nothing is compiled.

usage: cmake --preset tidy && scripts/tidy.py [PATTERN...]     (parts of paths: `src/pace`; all without)

A file that several targets compile is read as the first of them does: that of the MPI guests as for Open MPI. Of what CMake
made only shared units are read: every public header is read with what includes it. Ends with each finding once, by file
and line, and with status 1 where there is any, or nothing was read.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
build = root / "build" / "tidy"
made = re.compile(rf"^{re.escape(str(build))}/(?!.*/Unity/)")


def sources(path):
    """What a shared unit is made of; else the file itself."""
    files = re.findall(r'^#include "(.*)"$', pathlib.Path(path).read_text(), re.M) if "/Unity/" in path else [path]
    return [os.path.relpath(file, root) for file in files]


once = {}
for entry in json.loads((build / "compile_commands.json").read_text()):
    path = entry["file"]
    if path.endswith((".cpp", ".cxx")) and not made.match(path) and path not in once:
        files = sources(path)
        if not sys.argv[1:] or any(part in file for part in sys.argv[1:] for file in files):
            once[path] = (entry, files)
if not once:
    sys.exit(f"no file is built whose path holds {' or '.join(sys.argv[1:])}")
folder = build / "once"
folder.mkdir(exist_ok=True)
(folder / "compile_commands.json").write_text(json.dumps([entry for entry, _ in once.values()]))

findings, last = set(), ""
command = ["run-clang-tidy-16", "-quiet", "-j", str(os.cpu_count()), "-p", str(folder)]
with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as tidy:
    for line in tidy.stdout:
        if re.match(r"^(/\S+:\d+:\d+: )?(warning|error): ", line):
            findings.add(line.rstrip().removeprefix(f"{root}/"))
        last = line if line.strip() else last
if tidy.returncode != 0 and not findings:
    findings.add(f"run-clang-tidy-16 ended with status {tidy.returncode}: {last.strip()}")
files = {file for _, part in once.values() for file in part}
print("\n".join(sorted(findings) + [f"{len(findings)} findings in {len(files)} files"]))
sys.exit(1 if findings else 0)
