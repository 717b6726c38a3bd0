#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scenarios_test.py COX SOURCE [--update]: every scenario of examples/scenarios as JSON, byte for byte: with one thread,
with two, again, and as kept in tests/golden/scenarios. --update rewrites what is kept."""
import pathlib
import subprocess
import sys

cox, source = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
update = "--update" in sys.argv[3:]
scenarios = source / "examples" / "scenarios"
kept = source / "tests" / "golden" / "scenarios"


def simulate(path, threads):
    done = subprocess.run([cox, "simulate", path.name, "--json", "--quiet", "--threads", str(threads)], cwd=scenarios,
                          capture_output=True, timeout=120)
    if done.returncode != 0 or done.stderr:
        sys.exit(f"{path.name}: exit {done.returncode}\n{done.stderr.decode()}")
    return done.stdout


def first_difference(got, wanted):
    for number, (a, b) in enumerate(zip(got.splitlines(), wanted.splitlines()), 1):
        if a != b:
            return f"line {number}: got {a.decode()}, kept {b.decode()}"
    return f"{len(got)} bytes, kept {len(wanted)}"


names = sorted(scenarios.glob("*.toml"))
failures = [] if len(names) >= 12 else [f"only {len(names)} scenarios"]
for path in names:
    once = simulate(path, 1)
    for threads in (2, 1):
        if simulate(path, threads) != once:
            failures.append(f"{path.name}: other bytes with --threads {threads}")
    golden = kept / (path.stem + ".json")
    if update:
        kept.mkdir(exist_ok=True)
        golden.write_bytes(once)
    elif not golden.exists():
        failures.append(f"{path.name}: no {golden.name} is kept; run: ninja golden_update")
    elif golden.read_bytes() != once:
        failures.append(f"{path.name}: {first_difference(once, golden.read_bytes())}")
for stray in {p.stem for p in kept.glob("*.json")} - {p.stem for p in names}:
    failures.append(f"{stray}.json is kept, but there is no such scenario")
print("\n".join(failures) or f"{len(names)} scenarios")
sys.exit(1 if failures else 0)
