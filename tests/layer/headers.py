#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""headers.py LISTED INCLUDE WORK COMPILER [OPTION...]: every public header below INCLUDE is listed, and compiles alone.

LISTED holds a path per line. A header is compiled behind others only where it includes all of these itself, directly or
through another header and under no condition: it would see them before its own first line anyway. So a file that includes
a header, then one that includes this one, and so on, holds them all; and what many begin with is compiled once, in WORK,
by g++. Where such a file fails, each of its headers is compiled with nothing before it, and those that fail are named.
"""
import functools
import pathlib
import re
import subprocess
import sys

MOST_BASES = 4


def includes_of(text):
    """What a file includes under no condition."""
    found, depth = set(), 0
    for line in text.splitlines():
        words = re.match(r"\s*#\s*(\w+)\s*(.*)", line)
        if not words:
            continue
        if words[1] in ("if", "ifdef", "ifndef"):
            depth += 1
        elif words[1] == "endif":
            depth -= 1
        elif words[1] == "include" and depth == 0:
            found.update(re.findall(r'^["<](.*?)[">]', words[2]))
    return found


class Headers:
    def __init__(self, include, command):
        self.include, self.command = include, command
        self.names = sorted(str(h.relative_to(include)) for h in include.glob("cox/**/*.hpp"))
        self.held = set()  # compiled with nothing before them that they do not include

    @functools.cache
    def behind(self, name):
        """All that the header includes, directly or not."""
        own = includes_of((self.include / name).read_text(encoding="utf-8"))
        return own.union(*(self.behind(n) for n in own if (self.include / n).is_file()))

    def size(self, name):
        return len(self.behind(name))

    def chain(self, last, base=None):
        """Headers that are not held yet, each included by the next, and all behind the base."""
        names = [last]
        while within := [n for n in self.names if n in self.behind(names[0]) and n not in self.held and
                         (base is None or base in self.behind(n))]:
            names.insert(0, max(within, key=self.size))
        return names

    def compile(self, names, *options):
        """What the compiler says of a file that includes these; empty: nothing."""
        text = "".join(f'#include "{name}"\n' for name in names)
        done = subprocess.run([*self.command, *options], input=text, text=True, capture_output=True)
        return "" if done.returncode == 0 else done.stderr or f"exit code {done.returncode}"

    def failures(self, names, *options):
        """Header to what the compiler says of it, of those that do not compile; the others are held from here on."""
        syntax = ("-fsyntax-only", "-x", "c++", "-")
        failed = {}
        if self.compile(names, *options, *syntax):
            failed = {n: said for n in names if (said := self.compile([n], *syntax))}
        self.held.update(names)
        return failed

    def bases(self):
        """Headers worth compiling once, by how much of how many others they are; the smallest first."""
        saved = dict.fromkeys(self.names, 0)  # by the bases chosen so far
        chosen = []

        def gain(base):
            return sum(max(0, self.size(base) - saved[n]) for n in self.names if base in self.behind(n))

        while len(chosen) < MOST_BASES:
            best = max(self.names, key=gain)
            if gain(best) <= 4 * self.size(best):
                break
            chosen.append(best)
            for name in self.names:
                if best in self.behind(name):
                    saved[name] = max(saved[name], self.size(best))
        return sorted(chosen, key=self.size)

    def prepare(self, base, folder):
        """Compiles a base; the options that put it before others, none if it does not compile."""
        names = self.chain(base)
        text = folder / base.replace("/", "-")
        text.write_text("".join(f'#include "{name}"\n' for name in names), encoding="utf-8")
        if self.compile([], "-x", "c++-header", str(text), "-o", f"{text}.gch"):
            return []
        self.held.update(names)
        return ["-include", str(text), "-Werror=invalid-pch"]


def main():
    listed, include, work = map(pathlib.Path, sys.argv[1:4])
    headers = Headers(include, [*sys.argv[4:], f"-I{include}"])
    if not headers.names:
        sys.exit(f"no public header found under {include}/cox")
    known = set(listed.read_text(encoding="utf-8").split("\n"))
    forgotten = [n for n in headers.names if str(include / n) not in known]
    for name in forgotten:
        print(f"{name} is in no room's HEADERS list, so nothing checks or installs it")

    work.mkdir(parents=True, exist_ok=True)
    version = subprocess.run([sys.argv[4], "--version"], text=True, capture_output=True, check=True).stdout
    before = {}
    if "Free Software Foundation" in version:
        before = {base: options for base in headers.bases() if (options := headers.prepare(base, work))}
    failed, files = {}, len(before)
    for name in sorted(headers.names, key=headers.size, reverse=True):  # who includes much holds many
        if name in headers.held:
            continue
        base = max((b for b in before if b in headers.behind(name)), key=headers.size, default=None)
        failed |= headers.failures(headers.chain(name, base), *before.get(base, []))
        files += 1
    for name, said in sorted(failed.items()):
        print(f"{name} does not compile alone:\n{said}")
    print(f"{len(headers.names) - len(failed)} of {len(headers.names)} public headers compile alone, in {files} files")
    return 1 if failed or forgotten else 0


if __name__ == "__main__":
    sys.exit(main())
