#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Holds what is recorded of threads that use MPI at once against their own log: communicator, sequence number and
kind of each collective and of each wait that completed one, thread by thread; and each communicator of the program is
one of the Run, with all its members. Reads the raw files as docs/reference/run-format.md describes them.

usage: threads_test.py BUILD SOURCE LIBRARY

COX_TEST_THREAD_OPERATIONS: operations per thread, 400 unless set; with 250000 the 4 threads of each of 2 ranks make a
million (2 cores, busy: 12 minutes under Open MPI, 7 under MPICH).
"""
import collections
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile

build, library = os.path.realpath(sys.argv[1]), sys.argv[3]
cox = os.path.join(build, "cox")
program = os.path.join(build, "tests", "e2e", f"threads.{library}")
launcher = shutil.which(f"mpirun.{library}")
if not launcher or not os.access(program, os.X_OK):
    print(f"SKIP: no mpirun.{library}, or threads.{library} was not built")
    sys.exit(77)
RANKS = 2
COLLECTIVE, WAIT = 1, 2  # kinds of records
REQUEST = 2  # kind of waits
NON_BLOCKING = 1  # flag
operations = os.environ.get("COX_TEST_THREAD_OPERATIONS", "400")
clean = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD" and not k.startswith("COX_")}
clean |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "COX_MAX_OVERHEAD": "100000"}
# Not bound: mpirun gives each rank one core, on which its four threads poll through each other's time slices.
yielding = ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"] if library == "openmpi" else []


def run(command, environment=None):
    done = subprocess.run(command, env=clean | (environment or {}), capture_output=True, text=True)
    assert done.returncode == 0, (command, done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout


def raw_file(path):
    """Its rank, {local number: identity} of its communicators, and the records of each thread in their order."""
    data = open(path, "rb").read()
    chunk_bytes, = struct.unpack_from("<I", data, 20)
    rank, = struct.unpack_from("<i", data, 56)
    identities, chunks = {}, []
    for at in range(4096, len(data), chunk_bytes):
        magic, kind, ticket, thread, _, committed = struct.unpack_from("<IIQIIQ", data, at)
        if magic != 0x4B4E4843:
            continue
        if kind == 1:
            chunks.append((ticket, thread, data[at + 64:at + 64 + 40 * committed]))
        entry = at + 64
        while kind == 2 and entry < at + 64 + committed:
            what, size = struct.unpack_from("<II", data, entry)
            if what == 1:
                identity, number = struct.unpack_from("<QI", data, entry + 8)
                identities[number] = identity
            entry += 8 + (size + 7) // 8 * 8
    threads = collections.defaultdict(list)
    for _, thread, records in sorted(chunks):
        threads[thread].extend(struct.iter_unpack("<QQQIIBBHI", records))
    return rank, identities, threads


def recorded(folder):
    """Per rank, the sequences of its threads: (what, bytes, sequence); waits by the bytes of their communicator."""
    files = [raw_file(os.path.join(folder, name)) for name in os.listdir(folder) if name.endswith(".coxraw")]
    sizes = collections.defaultdict(set)  # by identity, over all ranks
    for _, identities, threads in files:
        for records in threads.values():
            for _, _, size, comm, _, kind, _, _, _ in records:
                if kind == COLLECTIVE:
                    sizes[identities[comm]].add(size)
    mixed = {name: found for name, found in sizes.items() if len(found) != 1}
    assert not mixed, f"communicators of the program that the Run takes for one: {mixed}"
    size_of = {name: found.pop() for name, found in sizes.items()}
    several = [size for size, n in collections.Counter(size_of.values()).items() if n > 1]
    assert not several, f"communicators of the program that the Run takes for several: {several[:5]}"
    found = {}
    for rank, identities, threads in files:
        lines = []
        for records in threads.values():
            own = []
            for _, _, size, comm, seq, kind, op, flags, _ in records:
                if kind == COLLECTIVE:
                    own.append(("s" if flags & NON_BLOCKING else "b", size, seq))
                elif kind == WAIT and op == REQUEST:
                    own.append(("w", size_of[identities[comm]], seq))
            if own:
                lines.append(own)
        found[rank] = sorted(lines)
    return found


def logged(path):
    threads = collections.defaultdict(list)
    for line in open(path):
        thread, what, size, sequence = line.split()
        threads[thread].append((what, int(size), int(sequence)))
    return sorted(threads.values())


with tempfile.TemporaryDirectory(prefix="cox-e2e.") as work:
    folder, log = (os.path.join(work, name) for name in ("run", "log"))
    os.mkdir(folder)
    run([launcher, *yielding, "-n", str(RANKS), program, log, operations],
        {"LD_PRELOAD": os.path.join(build, "libcox-preload.so"), "COX_DIR": folder, "COX_MAX_SIZE": "4000000000"})
    found = recorded(folder)
    total = 0
    for rank in range(RANKS):
        expected = logged(f"{log}.{rank}")
        assert len(found[rank]) == len(expected), (rank, len(found[rank]), len(expected))
        for ours, theirs in zip(found[rank], expected):
            if ours != theirs:
                extra = collections.Counter(ours) - collections.Counter(theirs)
                missing = collections.Counter(theirs) - collections.Counter(ours)
                at = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
                sys.exit(f"rank {rank}: {sum(extra.values())} too many {list(extra)[:5]}, {sum(missing.values())} "
                         f"missing {list(missing)[:5]}; first difference at {at}: recorded {ours[at:at + 3]}, the "
                         f"program says {theirs[at:at + 3]}")
            total += len(ours)
    result = json.loads(run([cox, "diagnose", folder, "--json"]))["result"]
    assert result["coverage"] == 1.0 and result["coverage_detail"]["collectives_mismatched"] == 0, result["coverage_detail"]
    print(f"{total} collectives and waits of {RANKS} x 4 threads as the program says")
