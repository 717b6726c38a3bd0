#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a rank's start and end cost of file operations does not grow with the job: with `mpirun ... cox observe -- prog`
every rank's `cox` and guest open as many files at 16 ranks as at 4, and at most 40 until the program has ended. What
belongs to the node (its CPUs and devices) is read by one process, once. Counted with strace.
usage: launch_scaling_test.py BUILD SOURCE openmpi|mpich
"""
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

build, library = os.path.realpath(sys.argv[1]), sys.argv[3]
cox, program = os.path.join(build, "cox"), os.path.join(build, "tests", "e2e", "timed_steps." + library)
launcher = shutil.which("mpirun." + library)
MOST = 40
environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD" and not k.startswith("COX_")}
environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1", PRTE_MCA_rmaps_default_mapping_policy=":oversubscribe", OMPI_MCA_btl="self,vader")


def skip(why):
    print("SKIP:", why)
    sys.exit(77)


if launcher is None or not os.access(program, os.X_OK):
    skip(f"{library} is not here")
if shutil.which("strace") is None:
    skip("strace is not here")
if subprocess.run(["strace", "-o", os.devnull, "true"], capture_output=True).returncode != 0:
    skip("strace may not trace here")

CALL = re.compile(r"(\d+) +(execve|openat|close_range|wait4)\((?:AT_FDCWD, )?(.*)")
ENDED = re.compile(r"(\d+) +<\.\.\. openat resumed>.* = -1 ")
OF_NODE = re.compile(r"/sys/(devices/system/(node/|cpu/(online|possible|cpu\d+/topology))|class/|bus/)")
RAW = re.compile(r"/[^/\"]*-(\d+)-[0-9a-f]+\.by(\d+)\.coxraw$")


def opens_per_rank(ranks, work):
    """Files that we opened: {cox of the rank: [paths]}, until the program has ended and afterwards; and who read of /sys
    what belongs to the node. That is left out."""
    trace, run = os.path.join(work, "trace"), os.path.join(work, "run")
    job = subprocess.run(["strace", "-f", "-qq", "-s", "4096", "-e", "trace=execve,openat,close_range,wait4", "-o", trace, launcher,
                          "-n", str(ranks), cox, "observe", "-o", run, "--", program, "1.5", "20", "-1", "0"],
                         capture_output=True, text=True, env=environment, timeout=240)
    assert job.returncode == 0, job.stderr
    of_thread, tools, keepers, at_end = collections.defaultdict(list), set(), set(), {}
    for line in open(trace, errors="replace"):
        if match := ENDED.match(line):  # a call that others interrupted in the trace
            of_thread[match[1]].pop()
        if not (match := CALL.match(line)):
            continue
        thread, call, rest = match.groups()
        if call == "execve" and os.path.realpath(rest.split('"')[1]) == cox:
            tools.add(thread)
        elif call == "close_range" and "UNSHARE" in rest:
            keepers.add(thread)
        elif call == "wait4":  # cox asks when it was told that its child has ended
            at_end[thread] = len(of_thread[thread])
        elif call == "openat" and " = -1 " not in rest:
            of_thread[thread].append(rest.split('"')[1])
    end = {tool: of_thread[tool][at_end[tool]:] for tool in tools}
    begin = {tool: of_thread[tool][:at_end[tool]] for tool in tools}
    of_node = set()
    for keeper in keepers:
        rank, tool = next(m.groups() for path in of_thread[keeper] if (m := RAW.search(path)))
        ours = of_thread[keeper] + [p for p in of_thread[rank] if "libcox" in p or p.startswith(run)]
        of_node |= {tool for p in ours if OF_NODE.match(p)}
        begin[tool] = begin[tool] + [p for p in ours if not OF_NODE.match(p)]
    assert len(keepers) == len(tools) == ranks, (len(keepers), len(tools), ranks, job.stderr)
    left = [f for f in os.listdir(run) if f.endswith(".coxraw")]
    assert not left and len([f for f in os.listdir(run) if f.endswith(".cox")]) == ranks, os.listdir(run)
    return begin, end, of_node


usual = {}
for ranks in (4, 8, 16):
    with tempfile.TemporaryDirectory(prefix="cox-e2e.") as work:
        begin, end, of_node = opens_per_rank(ranks, work)
    counts, ends = (sorted(len(paths) for paths in what.values()) for what in (begin, end))
    print(f"{ranks} ranks: {counts} files opened by cox until the program has ended, then {ends}")
    assert counts[-1] <= MOST, collections.Counter(max(begin.values(), key=len)).most_common()
    assert 1 <= len(of_node) <= 2, of_node  # two where the one ended so early that another took over
    usual[ranks] = counts[ranks // 2] + ends[ranks // 2]
    assert counts[-1] - counts[0] <= 6 and ends[-1] - ends[0] <= 6, (counts, ends)  # who writes run.json, who speaks
assert max(usual.values()) - min(usual.values()) <= 2, usual
