#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""promises.py BUILD PAGE: every test that a page says holds a promise is one that runs."""
import fnmatch
import os
import pathlib
import re
import subprocess
import sys
import tempfile

build, page = sys.argv[1:]
# From a folder of its own: even a list takes the place of the log of the tests that run now.
with tempfile.TemporaryDirectory() as place:
    pathlib.Path(place, "CTestTestfile.cmake").write_text(f'subdirs("{os.path.realpath(build)}")\n')
    listing = subprocess.run(["ctest", "--test-dir", place, "-N"], capture_output=True, text=True, check=True).stdout
tests = re.findall(r"Test +#\d+: (\S+)", listing)
with open(page, encoding="utf-8") as file:
    rows = [line for line in file if line.startswith("| ") and "`" in line.rsplit("|", 2)[1]]
named = {name for row in rows for name in re.findall(r"`((?:unit|e2e|property|golden)/[^`]+)`", row.rsplit("|", 2)[1])}
missing = [name for name in sorted(named) if not any(fnmatch.fnmatchcase(t, name + p) for t in tests for p in ("", "/*"))]
if not named or missing:
    sys.exit(f"{page}: no such test: {', '.join(missing) or 'none is named'}")
