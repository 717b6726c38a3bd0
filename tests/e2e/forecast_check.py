#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`cox forecast` of one input with each of its options. What it says depends on how long things took; that it is complete, adds up
and goes through `cox simulate` does not.

usage: forecast_check.py COX INPUT RANKS [run] [transcript FILE [update]]
run: the Run's own figures are wanted too. transcript: INPUT is always the same, so what is said of it is, to the letter; update writes FILE.
Exit 77: INPUT is not there.
"""
import difflib
import json
import os
import subprocess
import sys
import tempfile

cox, source, ranks = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2]), int(sys.argv[3])
options = sys.argv[4:]
is_run = options[:1] == ["run"]
transcript = options[options.index("transcript") + 1] if "transcript" in options else None
if not os.path.exists(source):
    print(f"SKIP: no {source}")
    sys.exit(77)
sizes = [ranks, 2 * ranks, 64 * ranks]


def forecast(*options, expected=0):
    done = subprocess.run([cox, "forecast", source, "-q", *options], capture_output=True, text=True, cwd=work)
    assert done.returncode == expected, (options, done.returncode, done.stdout, done.stderr)
    return done


def near_one(shares):
    assert abs(sum(shares.values()) - 1) < 1e-9, shares


with tempfile.TemporaryDirectory() as work:
    to = ["--to", ",".join(map(str, sizes))]
    r = json.loads(forecast(*to, "--json").stdout)["result"]
    assert r["seen_ranks"] == ranks and r["inputs"][0]["steps"] > 1, r["inputs"]
    assert [s["ranks"] for s in r["sizes"]] == sizes
    for size in r["sizes"]:
        if size["refused"] is None:
            low, high = size["step"]["low_s"], size["step"]["high_s"]
            assert low is None and high is None or low <= size["step"]["value_s"] <= high, size
            near_one(size["node_hours"])
            assert size["failures"] is None
    # Regimes end where answers do: a Run that says nothing of larger sizes has none.
    if any(size["refused"] is None and size["ranks"] > ranks for size in r["sizes"]):
        assert r["regimes"] is not None, [size["refused"] for size in r["sizes"]]
    for key in ("parts", "run", "structure", "not_seen", "left_out"):
        assert r[key] is not None, key
    if is_run:
        assert r["run"]["messages"] and r["run"]["startup"] and r["run"]["failures"], r["run"]
        assert r["run"]["startup"]["at_seen"]["value_s"] > 0
    for m in r["run"]["messages"]:
        assert m["latency"]["low_s"] <= m["latency"]["value_s"] <= m["latency"]["high_s"], m
        assert 0 <= m["dips"]["low"] <= m["dips"]["value"] <= m["dips"]["high"] <= 1, m

    # With failures, and as a page.
    failing = json.loads(forecast(*to, "--json", "--report", "page.html", "--failures",
                                  "node_mtbf=1000h,restart=5min,checkpoint=1min,checkpoint_interval=1h").stdout)["result"]
    for size, calm in zip(failing["sizes"], r["sizes"]):
        assert (size["refused"] is None) == (calm["refused"] is None)
        if size["refused"] is None:
            near_one(size["node_hours"])
            assert 0 < size["failures"]["goodput"] < 1 and size["node_hours"]["restarts"] > 0, size
            assert size["throughput_ratio"] == calm["throughput_ratio"]
    with open(os.path.join(work, "page.html")) as f:
        html = f.read()
    assert html.lower().startswith("<!doctype html>") and "<script" not in html and ">nan" not in html, html[:80]

    # As text, with the Scenario, which `cox simulate` takes.
    has_scenario = r["no_scenario"] is None
    if has_scenario:
        text = forecast(*to, "--all", "--levers", "--scenario", "calibrated.toml").stdout
        played = subprocess.run([cox, "simulate", "calibrated.toml", "--json"], capture_output=True, text=True, cwd=work)
        assert played.returncode == 0, played.stderr
        assert "levers, alone" in text, text
    else:
        text = forecast(*to, "--all").stdout
        done = forecast(*to, "--scenario", "none.toml", expected=3)
        assert "forecast-005" in done.stderr and r["no_scenario"] in done.stderr, done.stderr
        assert not os.path.exists(os.path.join(work, "none.toml"))
    assert "ranks" in text and "regime" in text and "nan" not in text, text
    if transcript:
        said = forecast(*to, "--levers", "--structure").stdout
        if options[-1] == "update":
            with open(transcript, "w") as f:
                f.write(said)
        with open(transcript) as f:
            expected = f.read()
        assert said == expected, "".join(difflib.unified_diff(expected.splitlines(True), said.splitlines(True), transcript, "now"))
print(f"{os.path.basename(source)}: forecast of {ranks} ranks at {sizes}, "
      f"{sum(s['refused'] is None for s in r['sizes'])} sizes with a number, {'a' if has_scenario else 'no'} scenario")
