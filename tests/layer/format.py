#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""format.py ROOT: clang-format-16 leaves every C and C++ file as it is (77: it is not there)."""
import os
import pathlib
import shutil
import subprocess
import sys

SUFFIXES = {".cpp", ".hpp", ".h", ".c"}
TOPS = ("bench", "examples", "fuzz", "include", "src", "tests")

root = pathlib.Path(sys.argv[1])
formatter = shutil.which("clang-format-16")
if not formatter:
    print("SKIP: no clang-format-16 (CONTRIBUTING.md)")
    sys.exit(77)
files = [path for top in TOPS for path in sorted((root / top).rglob("*")) if path.suffix in SUFFIXES and path.is_file()]
if not files:
    sys.exit(f"no source found under {root}: the search is broken")
style = f"--style=file:{pathlib.Path(__file__).resolve().parents[2] / '.clang-format'}"
done = subprocess.run([formatter, style, "--dry-run", "-Werror", *files], capture_output=True, text=True, check=False)
wrong = sorted({line.split(":")[0] for line in done.stderr.splitlines() if "-Wclang-format-violations" in line})
for path in wrong:
    print(f"{os.path.relpath(path, root)} is not as clang-format-16 leaves it: run `clang-format-16 -i` on it")
if done.returncode != 0 and not wrong:
    sys.exit(f"clang-format-16 failed:\n{done.stderr}")
print(f"{len(files)} files")
sys.exit(1 if wrong else 0)
