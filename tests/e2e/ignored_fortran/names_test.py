#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every function that is wrapped in Fortran is called by the programs of e2e/ignored_*, in each library and binding that
has it: what the preload object exports is held against what the built programs ask for.

usage: names_test.py BUILD SOURCE
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

# Names (without what a binding adds) that no program calls, and why.
NOT_CALLED = {}
# By the beginning of a library's file: what breaks there without us (more.F90 says how). Open MPI 5.0.
BREAKS = {f"mpi_{name}_init" for name in ("alltoallv", "alltoallw", "neighbor_alltoallv", "neighbor_alltoallw")}
NOT_CALLED_IN = {"libmpi.so.40.40.": BREAKS, "libmpi.so.40.50.": BREAKS}
# Bindings whose programs are not run (more.F90 says why).
NOT_RUN_IN = {("f08", "libmpi.so.40.50.")}
# Those of COX_COUNT are not wrapped: a stub adds one to a counter and jumps on, and looks at no argument (e2e/unobserved_*).
COUNTED = re.compile(r"^COX_COUNT\(\w+, (\w+)\)", re.M)
PROGRAMS = ("ignored", "ignored_more")
ENDINGS = {"mpifh": ("_",), "f08": ("_f08_", "_f08ts_")}
BOUND = re.compile(r"(mpix?_[a-z_]+?)(_f08_|_f08ts_|_)$")


def symbols(path, which):
    """Fortran's names of MPI functions in a dynamic symbol table: {symbol: (name, ending)}."""
    text = subprocess.run(["nm", "-D", which, path], capture_output=True, text=True, check=True).stdout
    found = (BOUND.match(line.split()[-1].split("@")[0]) for line in text.splitlines() if line.split())
    return {m[0]: (m[1], m[2]) for m in found if m}


def libraries(program):
    text = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return [m[1] for m in re.finditer(r"=> (/\S+)", text) if "mpi" in os.path.basename(m[1])]


def broken_in(paths):
    files = [os.path.basename(os.path.realpath(path)) for path in paths]
    return {name for begin, names in NOT_CALLED_IN.items() if any(f.startswith(begin) for f in files) for name in names}


def lacking(wrapped, offered, called, broken=()):
    """Symbols that are wrapped and there, and that nobody calls."""
    return sorted(s for s in wrapped if s in offered and s not in called and wrapped[s][0] not in NOT_CALLED
                  and wrapped[s][0] not in broken)


planted = {"mpi_send_": ("mpi_send", "_"), "mpi_bcast_": ("mpi_bcast", "_"), "mpi_scan_": ("mpi_scan", "_")}
assert lacking(planted, {"mpi_send_", "mpi_bcast_"}, {"mpi_send_"}) == ["mpi_bcast_"]

build, source = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
counted = {name.lower() for name in COUNTED.findall((source / "src/guest/preload/hooks.def").read_text(encoding="utf-8"))}
exported = symbols(build / "libcox-preload.so", "--defined-only")
wrapped = {s: bound for s, bound in exported.items() if bound[0] not in counted}
names = {name for name, _ in wrapped.values()}
assert len(names) > 100 and counted <= {name for name, _ in exported.values()}, (len(names), counted)
wrong = [f"{name} is listed as not called, and is not wrapped" for name in NOT_CALLED if name not in names]
met = set()
tried = 0
for library in ("openmpi", "mpich"):
    for binding, endings in ENDINGS.items():
        programs = [build / "tests/e2e" / f"{name}_{binding}.{library}" for name in PROGRAMS]
        if not all(program.exists() for program in programs):
            if shutil.which(f"mpif90.{library}"):
                wrong.append(f"not built: {' or '.join(str(program) for program in programs)}")
            continue
        tried += 1
        here = {s: bound for s, bound in wrapped.items() if bound[1] in endings}
        called = {s for program in programs for s in symbols(program, "--undefined-only")}
        paths = libraries(programs[0])
        if any(b == binding and os.path.basename(os.path.realpath(path)).startswith(begin)
               for b, begin in NOT_RUN_IN for path in paths):
            continue
        offered = {s for path in paths for s in symbols(path, "--defined-only")}
        broken = broken_in(paths)
        used = {here[s][0] for s in here if s in called}
        wrong += [f"{binding}.{library}: {s} is wrapped, and no program calls it" for s in lacking(here, offered, called, broken)]
        wrong += [f"{binding}.{library}: {name} is listed as broken, and is called" for name in sorted(used & broken)]
        wrong += [f"{binding}.{library}: {name} is listed as not called, and is" for name in sorted(used & set(NOT_CALLED))]
        met |= used
        print(f"{binding}.{library}: {len(used)} of {len(names)} names called, {len(names - {here[s][0] for s in here if s in offered})}"
              " are not in the library")
if not tried and not wrong:
    print("SKIP: no MPI library with Fortran is here")
    sys.exit(77)
if tried == 4:
    # Open MPI 4 calls mpix_barrier_init what Open MPI 5 calls mpi_barrier_init.
    older = {name for name in names if name.startswith("mpix_") and "mpi_" + name[len("mpix_"):] in met}
    wrong += [f"{name} is wrapped, and neither library has it" for name in sorted(names - met - older - set(NOT_CALLED))]
print("\n".join(wrong) or f"{len(met)} names called, {len(counted)} only counted")
sys.exit(1 if wrong else 0)
