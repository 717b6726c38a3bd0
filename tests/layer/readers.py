#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""readers.py ROOT: every reader of a format is declared, asked, and fuzzed.

A reader is a `const Reader k<Name>Reader{` in src/trace/import. It stands in part/reader.hpp and readers.cpp, in fuzz/import_entries.cpp
under its name with underscores, in fuzz/CMakeLists.txt, and has seeds in fuzz/corpus. The same for formats of several files.
"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
imports = root / "src/trace/import"


def text(path):
    return path.read_text(encoding="utf-8")


def underscored(name):
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


defined = set()
for file in sorted(imports.rglob("*.cpp")):
    defined |= set(re.findall(r"^const Reader k(\w+)Reader\b\s*[{=]", text(file), re.M))
if not defined:
    sys.exit(f"no reader found under {imports}: the search is broken")

wrong = []


def held(place, wanted, found):
    wrong.extend(f"{place}: no {name}" for name in sorted(wanted - found))
    wrong.extend(f"{place}: {name}, which is none" for name in sorted(found - wanted))


entries, build = text(root / "fuzz/import_entries.cpp"), text(root / "fuzz/CMakeLists.txt")
held("src/trace/import/part/reader.hpp", defined,
     set(re.findall(r"^extern const Reader k(\w+)Reader;", text(imports / "part/reader.hpp"), re.M)))
held("src/trace/import/readers.cpp", defined, set(re.findall(r"&k(\w+)Reader\b", text(imports / "readers.cpp"))))
known = dict(re.findall(r"\{\"(\w+)\", &k(\w+)Reader\}", entries))
held("fuzz/import_entries.cpp", defined, set(known.values()))
wrong += [f"fuzz/import_entries.cpp: k{reader}Reader is called {name}, not {underscored(reader)}"
          for name, reader in known.items() if name != underscored(reader)]

# What the loops of fuzz/CMakeLists.txt go over, by what they make.
loops = {ending: set(names.split())
         for names, ending in re.findall(r"foreach\(reader ([\w\s]+)\)\s*cox_fuzz_reader\(\$\{reader\}(\w*) ", build)}
names = {underscored(reader) for reader in defined}
several = set(re.findall(r"reader == \"(\w+)\"", entries))
for ending, wanted in (("", names), ("_files", several)):
    held("fuzz/CMakeLists.txt", wanted, loops.get(ending, set()))
    seeds = root / "fuzz/corpus"
    wrong += [f"fuzz/corpus/{name}{ending}: no seed" for name in sorted(wanted)
              if not any((seeds / (name + ending)).glob("*"))]
print("\n".join(wrong) or f"{len(defined)} readers, each declared, asked and fuzzed; {len(several)} of several files")
sys.exit(1 if wrong else 0)
