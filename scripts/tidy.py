#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy on every file, from the configured build alone: nothing is compiled.

usage: cmake --preset tidy && scripts/tidy.py [PATTERN...]     (regular expressions of paths; all without)

A file that several targets compile is read once. Of what CMake made only shared units are read: every public header is
read with what includes it. Ends with each finding once, by file and line, and with status 1 where there is any.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

build = pathlib.Path(__file__).resolve().parent.parent / "build" / "tidy"
made = re.compile(rf"^{re.escape(str(build))}/(?!.*/Unity/)")
once = {}
for entry in json.loads((build / "compile_commands.json").read_text()):
    if entry["file"].endswith((".cpp", ".cxx")) and not made.match(entry["file"]):
        once.setdefault(entry["file"], entry)
folder = build / "once"
folder.mkdir(exist_ok=True)
(folder / "compile_commands.json").write_text(json.dumps(list(once.values())))

command = ["run-clang-tidy-16", "-quiet", "-j", str(os.cpu_count()), "-p", str(folder), *sys.argv[1:]]
findings, last = set(), ""
with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as tidy:
    for line in tidy.stdout:
        if re.match(r"^(/\S+:\d+:\d+: )?(warning|error): ", line):
            findings.add(line.rstrip().removeprefix(str(build.parent.parent) + "/"))
        last = line if line.strip() else last
if tidy.returncode != 0 and not findings:
    findings.add(f"run-clang-tidy-16 ended with status {tidy.returncode}: {last.strip()}")
print("\n".join(sorted(findings) + [f"{len(findings)} findings in {len(once)} files and units"]))
sys.exit(1 if findings else 0)
