#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pace_study_test.py BUILD SOURCE: the processes of `cox study pacing` do what their plan says. No time is judged."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))
from processes import signal_process  # noqa: E402

build = sys.argv[1]
worker = os.path.realpath(os.path.join(build, "cox-bench-pace"))
scratch = tempfile.TemporaryDirectory()

JOB = {"ranks": 4, "hosts": 1, "cores": 2, "prepare_s": 0, "fetch_bytes": 0, "link_bytes_per_s": 0,
       "compute_s": 0.002, "compute_on_cores": 0, "jitter": 1, "spread": 0.05, "imbalance": 1, "slow_ranks": 1,
       "slow_factor": 5, "episode": 10, "reduce_bytes": 0, "wait": 2}
OFF, ALWAYS = 0, 1


def plan_file(name, job, blocks):
    lines = ["cox-pace-plan 1"] + [f"{key}\t{value}" for key, value in {**JOB, **job}.items()]
    lines += ["seed\t7", "background\t0\t4", "arm\toff\t\t-1\t0"]
    lines += ["arm\talways\talways,window=16,warm_up=16,deviations=0,min_delay=1ms\t-1\t0"]
    lines += ["block\t" + "\t".join(map(str, b)) for b in blocks]
    path = os.path.join(scratch.name, name)
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")
    return path


def rows_of(text):
    blocks, ranks = [], {}
    lines = text.splitlines()
    assert lines[0] == "cox-pace-rows 1", lines[0]
    for line in lines[1:]:
        words = line.split("\t")
        if words[0] == "block":
            assert int(words[1]) == len(blocks), line
            blocks.append([])
        elif words[0] == "step":
            blocks[-1].append([int(w) for w in words[1:]])
        elif words[0] == "rank":
            ranks[int(words[1]), int(words[2])] = [int(w) for w in words[3:]]
        else:
            raise AssertionError(line)
    return blocks, ranks


def workers():
    """Processes of the worker that are not mere zombies."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat") as file:
                state = file.read().rsplit(")", 1)[1].split()[0]
            if state not in "ZX" and os.readlink(f"/proc/{entry}/exe") == worker:
                found.append(int(entry))
        except OSError:
            pass
    return found


def networks(processes):
    spaces = set()
    for process in processes:
        try:
            spaces.add(os.readlink(f"/proc/{process}/ns/net"))
        except OSError:
            pass
    return spaces


def until(condition, what):
    for _ in range(600):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError(what)


def check_rows():
    plan = plan_file("small", {}, [(OFF, 25, 0, 1), (ALWAYS, 25, 0, 1), (ALWAYS, 25, 25, 0), (OFF, 25, 25, 1)])
    run = subprocess.run([worker, plan], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    blocks, ranks = rows_of(run.stdout)
    assert [len(b) for b in blocks] == [25] * 4
    draw = [[step[5] for step in b] for b in blocks]
    assert draw[0] == draw[1] and draw[2] == draw[3] and draw[0] != draw[2], "pairs do not share their draws"
    assert all(step[3] == 0 for b in (blocks[0], blocks[3]) for step in b), "off delays"
    assert all(step[3] == 0 for step in blocks[1][:10]), "a cold controller delays before its window is full"
    assert sum(step[3] > 0 for step in blocks[2]) >= 20, "a warm controller began anew"
    delay = [ranks[ALWAYS, r][3] for r in range(4)]
    assert min(delay[:3]) > 1_000_000 and delay[3] * 4 < min(delay[:3]), f"not only early ranks are delayed: {delay}"
    assert all(ranks[OFF, r][3] == 0 and ranks[OFF, r][0] == 50 for r in range(4))


def check_refused():
    plan = plan_file("bad", {"ranks": 100000}, [(OFF, 25, 0, 1)])
    run = subprocess.run([worker, plan], capture_output=True, text=True, timeout=20)
    assert run.returncode == 1 and ":2: 'ranks?100000' is no line of a plan" in run.stderr, run.stderr


def check_killed(job, least):
    """SIGKILL of the first process, as an out-of-memory killer would: nothing stays."""
    plan = plan_file("long", job, [(OFF, 100000, 0, 1)])
    first = subprocess.Popen([worker, plan], stdout=subprocess.PIPE, text=True)
    until(lambda: first.poll() is not None or len(workers()) >= least, "the ranks did not start")
    if first.poll() == 77:
        return first.stdout.read().strip()
    assert first.poll() is None, "the run ended early"
    made = networks(workers()) - networks([os.getpid()])
    assert len(made) == (2 if job else 0), f"{made}"
    first.send_signal(signal.SIGKILL)
    first.wait()
    until(lambda: not workers(), f"processes stay: {workers()}")
    everybody = lambda: filter(str.isdigit, os.listdir("/proc"))
    until(lambda: not made & networks(everybody()), "a network namespace stays")
    return ""


def check_lost_rank():
    """One rank is killed: the others do not wait for it for ever."""
    plan = plan_file("lost", {}, [(OFF, 100000, 0, 1)])
    first = subprocess.Popen([worker, plan], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(lambda: len(workers()) >= 5, "the ranks did not start")
    signal_process(max(p for p in workers() if p != first.pid), signal.SIGKILL)
    _, said = first.communicate(timeout=60)
    assert first.returncode == 1 and "a rank ended" in said, said
    assert not workers()


PLAN = """
title = "A small evaluation"
[protocol]
seed = 7
window = 2
starts = 3
segment = "1s"
chunk = "0.25s"
chunk_off = "0.1s"
limit = "60s"
steal = 1.0
floor = 0.0
harm = 0.99
[[arm]]
name = "off"
[[arm]]
name = "again"
[[arm]]
name = "auto"
settings = "auto"
"""
CONDITION = """
[[condition]]
name = "{}"
mechanism = "none"
about = "two ranks on timers"
arms = ["again", "auto"]
period = "2.2ms"
best = "2ms"
ranks = 2
compute = "2ms"
"""


def study(folder, *flags):
    command = [os.path.join(build, "cox"), "study", "pacing", "--studies", folder, *flags]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def check_evaluation():
    """As many starts as the plan says, each with all arms; results belong to their plan; claims go into a page."""
    folder = os.path.join(scratch.name, "studies")
    os.mkdir(folder)
    plan = os.path.join(folder, "pacing.toml")
    with open(plan, "w") as file:
        file.write(PLAN + CONDITION.format("one") + CONDITION.format("two") + "quick = true\n")
    results = os.path.join(folder, "results.json")
    run = study(folder, "--full", "--only", "one,two", "-o", results)
    assert run.returncode == 0, run.stderr
    with open(results) as file:
        measured = json.load(file)
    for condition in measured["conditions"]:
        # Two chunks of auto in a start, off beside each, and again beside that; a floor of nothing cannot be met.
        # No pair is struck out, however much this machine's host takes away.
        pairs = {e["arm"]: [len(s["pair_gain_ratios"]) for s in e["starts"]] for e in condition["effects"]}
        assert condition["starts"] == 3 and condition["failed_starts"] == 0, condition
        assert pairs == {"again": [4] * 3, "auto": [4] * 3}, json.dumps(condition["effects"])
        assert not condition["resolved"]
    before = open(results).read()
    again = study(folder, "--full", "--only", "two", "--into", results)
    assert again.returncode == 0, again.stderr
    with open(results) as file:
        after = json.load(file)
    assert after["conditions"][0]["effects"] == measured["conditions"][0]["effects"], "the other one changed"
    assert after["conditions"][1]["effects"] != measured["conditions"][1]["effects"], "not measured anew"
    with open(plan, "a") as file:
        file.write("# another plan\n")
    kept = open(results).read()
    for flags, said in ((["--full", "--only", "two", "--into", results], "measured by another plan"),
                        (["--full", "-o", results], "exists already"),
                        (["--quick", "--only", "one"], "--quick has only"),
                        (["--from", results, "--json"], "--from writes the page")):
        refused = study(folder, *flags)
        assert refused.returncode != 0 and said in refused.stderr, (flags, refused.stderr)
    assert open(results).read() == kept != before
    claims = os.path.join(folder, "page.md")
    with open(claims, "w") as file:
        file.write("a\n<!-- pacing study: sentence -->\nold\n<!-- end -->\nb\n")
    for _ in range(2):  # the second time it finds what it wrote
        put = study(folder, "--from", results, "--into", claims)
        assert put.returncode == 0, put.stderr
        text = open(claims).read()
        assert "Measured on" in text and "old" not in text and text.startswith("a\n") and text.endswith("\nb\n"), text
    refused = study(folder, "--from", results, "--into", plan)
    assert refused.returncode != 0 and "no mark" in refused.stderr, refused.stderr
    page = study(folder, "--from", results)
    assert page.returncode == 0 and "measured by another plan" in page.stdout, page.stderr


assert not workers(), "another cox-bench-pace of this build runs"
check_rows()
check_refused()
check_killed({}, 5)
check_lost_rank()
check_evaluation()
link = {"fetch_bytes": 20000, "link_bytes_per_s": 5e7}
skipped = check_killed(link, 10) or check_killed({**link, "reduce_bytes": 65536}, 10)
print("the networks of these processes cannot be made here: " + skipped if skipped else "all well")
