#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No name reaches the terminal raw: every verb is given names with an escape sequence and a line end, as each argument
and each option that `cox help VERB` lists (so a new one is tried without a change here), and what succeeds is made to
succeed. Only text for people is looked at: JSON escapes by itself.

hostile_names_test.py COX SOURCE_DIR
"""
import os
import re
import subprocess
import sys
import tempfile

COX, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
NAME = "a\x1b]0;owned\x07\x1b[2J\nFAKE: all is well\r\x9bb"
PATIENCE_S = 60
failures = []


def said(words):
    try:
        done = subprocess.run([COX, *words], capture_output=True, timeout=PATIENCE_S, stdin=subprocess.DEVNULL, check=False)
    except subprocess.TimeoutExpired:
        failures.append(f"{words!r}: did not end in {PATIENCE_S} s")
        return 1
    for what, raw in (("standard output", done.stdout), ("standard error", done.stderr)):
        if words[0] in ("completion", "__man"):
            continue
        text = raw.decode("utf-8", "replace")
        bad = sorted({c for c in text if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160})
        if bad or re.search(r"^FAKE", text, re.M):
            failures.append(f"{words!r}: {what} holds {bad or 'a line of its own'}: {text[:300]!r}")
    if done.returncode < 0 or done.returncode == 70:
        failures.append(f"{words!r}: ended with {done.returncode}")
    return done.returncode


def help_of(*words):
    return subprocess.run([COX, "help", *words], capture_output=True, text=True, check=True).stdout


verbs = re.findall(r"^  ([a-z]+)  ", help_of().split("Usage:")[1], re.M)
assert {"observe", "diagnose", "collect", "bench", "study"} <= set(verbs), verbs

with tempfile.TemporaryDirectory(prefix="cox-hostile.") as folder:
    os.chdir(folder)
    with open("steps.csv", "w", encoding="utf-8") as table:
        table.write("step,rank0,rank1,rank2\n")
        for s in range(40):
            table.write(f"{s},1.0,1.0{s % 3},1.4\n")
    os.link("steps.csv", NAME)

    # Every verb: a name as each argument, and as the value of each option.
    tried = 0
    for verb in verbs:
        page = help_of(verb)
        assert said([verb, NAME + "x"]) != 0 or verb in ("help", "explain"), verb
        assert said([verb, NAME, NAME]) is not None
        for option in re.findall(r"^  (?:-\w, |    )(--[a-z-]+) [A-Z]", page, re.M):
            front = [verb, NAME] if verb != "observe" else [verb]
            behind = ["--", "./" + NAME + "-is-no-program"] if verb == "observe" else []
            if verb in ("simulate", "study", "bench"):
                front = [verb, NAME + "x"]
            said([*front, option, NAME + "y", *behind])
            tried += 1
    assert tried > 40, f"only {tried} options were found in the help pages"

    # What goes well, and says what it wrote.
    scenario = os.path.join(SOURCE, "examples/scenarios")
    files = sorted(f for f in os.listdir(scenario) if f.endswith(".toml")) if os.path.isdir(scenario) else []
    saved = None
    for f in files:
        if said(["simulate", os.path.join(scenario, f), "--save", NAME + "-run"]) == 0 and os.path.isdir(NAME + "-run"):
            saved = NAME + "-run"
            break
    assert saved, "no example scenario could be saved as a Run"
    well = [
        ["diagnose", NAME], ["diagnose", NAME, "--all"], ["diagnose", NAME, "--markdown"], ["diagnose", saved],
        ["diagnose", "."], ["diagnose", ".", "--all"], ["diagnose", NAME, "--against", NAME],
        ["report", NAME, "-o", NAME + ".html"], ["export", saved, "-o", NAME + ".json"],
        ["collect", saved, "-o", NAME + "-all"], ["compact", saved], ["pace", saved],
        ["study", "--list", "--studies", os.path.join(SOURCE, "studies")],
        ["study", "allreduce-crossover", "-o", NAME + "-study"],
        ["bench", "noise", "--duration", "50ms", "--cores", "0", "-o", NAME + "-noise.toml"],
    ]
    for words in well:
        if words[0] in ("diagnose", "pace"):
            said(words)
        else:
            assert said(words) == 0, words
    os.mkdir(NAME + "-shut")
    os.chmod(NAME + "-shut", 0)
    for verb in ("diagnose", "report", "export", "compact", "pace"):
        said([verb, NAME + "-shut"])
    os.chmod(NAME + "-shut", 0o700)

for line in failures:
    print(line)
sys.exit(1 if failures else 0)
