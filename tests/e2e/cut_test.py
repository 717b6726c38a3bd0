#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A real Run cut at random bytes is always readable: what is complete is kept, and what is missing is said.

Cuts compacted files, or with --raw those that a guest leaves behind.
usage: cut_test.py BUILD SOURCE [--raw] [TIMES [SEED]]
"""
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

HEADER, CHUNK, EVENTS = 4096, 64 * 1024, 1  # cox/trace/raw_format.hpp
RANKS = 3

build = os.path.realpath(sys.argv[1])
raw = "--raw" in sys.argv
STEPS = 10000 if raw else 25000  # several chunks of each rank; those of compacted files hold more
numbers = [int(a) for a in sys.argv[3:] if a != "--raw"]
times = numbers[0] if numbers else 200
seed = numbers[1] if len(numbers) > 1 else random.SystemRandom().randrange(1 << 31)
program = os.path.join(build, "many_marks")
cox = os.path.join(build, "cox")
environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD" and not k.startswith("COX_")}


def observe(folder):
    job = [program, str(RANKS), str(STEPS)]
    if raw:  # by hand, without the launcher: it would compact the files
        os.mkdir(folder)
        preload = dict(environment, LD_PRELOAD=os.path.join(build, "libcox-preload.so"), COX_DIR=folder)
        subprocess.run(job, check=True, stdout=subprocess.DEVNULL, env=preload)
    else:
        subprocess.run([cox, "observe", "-o", folder, "--", *job], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, env=environment)


def diagnose(folder):
    told = subprocess.run([cox, "diagnose", folder, "--json"], capture_output=True, text=True, env=environment)
    return told, json.loads(told.stdout) if told.returncode == 0 else None


def events_before(path, before):
    """How many events lie in the chunks of a raw file that end before a byte; the other chunks hold names or samples, and
    one of events need not be full."""
    with open(path, "rb") as file:
        content = file.read()
    events = 0
    for begin in range(HEADER, before - CHUNK + 1, CHUNK):
        kind, _, _, _, committed = struct.unpack_from("<IQIIQ", content, begin + 4)
        events += committed if kind == EVENTS else 0
    return events


def counts(document):
    return {r["rank"]: r["collectives"] for r in document["result"]["ranks"]}


print("seed", seed)
rng = random.Random(seed)
with tempfile.TemporaryDirectory(prefix="cox-e2e.") as work:
    run = os.path.join(work, "run")
    observe(run)
    told, whole = diagnose(run)
    assert whole is not None, told.stderr
    full = counts(whole)
    assert full == {r: STEPS for r in range(RANKS)}, full
    files = sorted(f for f in os.listdir(run) if f.endswith(".coxraw" if raw else ".cox"))
    assert len(files) == RANKS, os.listdir(run)
    some = 0  # cuts that cost a part of a rank's records, not all and not none
    for i in range(times):
        copy = os.path.join(work, "copy")
        shutil.copytree(run, copy)
        victim = os.path.join(copy, rng.choice(files))
        at = rng.randrange(os.path.getsize(victim))
        os.truncate(victim, at)
        told, document = diagnose(copy)
        where = f"cut {i}: {os.path.basename(victim)} at byte {at}"
        assert document is not None, (where, told.returncode, told.stderr)
        found = counts(document)
        hurt = [r for r in full if found.get(r, 0) != full[r]]
        assert len(hurt) <= 1, (where, found)  # the other files are whole, and so is what is read from them
        left = min(found.get(r, 0) for r in full)
        assert left <= STEPS, (where, found)
        if hurt:
            # said somewhere: in the coverage or as a warning
            assert document["result"]["coverage"] < 1 or document["warnings"], (where, document)
        if raw and at >= HEADER:
            # every whole chunk of events is kept
            kept = events_before(os.path.join(run, os.path.basename(victim)), at)
            assert left >= min(kept, STEPS), (where, found, kept)
        some += bool(hurt) and left > 0
        shutil.rmtree(copy)
    print(f"{times} cuts, {some} of them left a part of a rank's records, none cost another rank's")
    assert some >= times // 10, "hardly a cut left a part: the test proves little"
