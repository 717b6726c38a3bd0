# SPDX-License-Identifier: Apache-2.0
"""Several cases in one script. Each function with a prefix is one, and a test of its own (cox_e2e_cases in
tests/e2e/CMakeLists.txt), so that a failure names what failed.
"""
import os
import sys
import tempfile
import time
import traceback


class Skip(Exception):
    """The case cannot be tried here; says why."""


def cases_of(namespace, *prefixes):
    return {name[len(p):]: f for p in prefixes for name, f in namespace.items() if name.startswith(p) and callable(f)}


def run_cases(cases, chosen):
    """Runs the chosen ones, or all, each in an empty folder; what one returns is printed. Ends the program: 1 where one
    failed, 77 where none could be tried.
    """
    tried = failed = 0
    for name in chosen or cases:
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="cox-e2e.") as scratch:
            place = os.path.join(scratch, "work")
            os.mkdir(place)
            try:
                said = cases[name](place) or "as it should be"
                tried += 1
            except Skip as skip:
                print(f"SKIP: {skip}", flush=True)
                continue
            except Exception as error:  # the other cases are tried nevertheless
                traceback.print_exc()
                said = f"FAILED: {type(error).__name__}: {error}"
                tried, failed = tried + 1, failed + 1
        print(f"{name}: {said} ({time.monotonic() - began:.1f} s)", flush=True)
    sys.exit(1 if failed else 0 if tried else 77)
