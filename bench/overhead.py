#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What observing costs whole processes and jobs, in pairs of runs with and without, their order alternating:
  startup   a process that is no rank: `/bin/true` with the preload object and without, medians over batches
  mpi       16 ranks under Open MPI: timed sleep of 10 ms and an all-reduce per step
  ddp       4 ranks of PyTorch's DistributedDataParallel over Gloo (examples/torch_ddp.py)
  pace-mpi, pace-ddp   the same jobs, `cox observe --pace off` against `--pace observe`
  noise     16 ranks under Open MPI, steps of 9 ms of sleep and an all-reduce for 15 s: time of a step by the job's own
            clock, its start and end left out, and CPU time of our threads
  keeper    CPU time of the guest's thread per second (its schedstat) over 20 s: one rank of MPICH that sleeps, and one
            that makes some 900 all-reduces a second, each with a sync per second and without
For jobs: wall and CPU time per run, mean of the paired relative differences with its 95 % interval (Student's t), and
the share by counting: hooked calls of a rank x cost of one / time of its steps.

usage: overhead.py BUILD SOURCE startup|mpi|ddp|pace-mpi|pace-ddp|noise|keeper [PAIRS [NS-PER-CALL]]     (20 pairs; 40 ns)
"""
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "tests", "support"))
from processes import wait_process  # noqa: E402

build, source, what = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2]), sys.argv[3]
pairs = int(sys.argv[4]) if len(sys.argv) > 4 else 20
ns_per_call = float(sys.argv[5]) if len(sys.argv) > 5 else 40.0
cox = os.path.join(build, "cox")
preload = os.path.join(build, "libcox-preload.so")
clean = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD" and not k.startswith("COX_")}
clean |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMP_NUM_THREADS": "1"}
# 97.5 % quantile of Student's t by degrees of freedom (tables; normal beyond).
T975 = {4: 2.776, 9: 2.262, 14: 2.145, 19: 2.093, 24: 2.064, 29: 2.045, 39: 2.023, 49: 2.010}


def quantile(n):
    return T975[max((k for k in T975 if k <= n), default=4)] if n < 60 else 1.96


def interval(values):
    mean = statistics.fmean(values)
    half = quantile(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return mean, mean - half, mean + half


def startup():
    runs = 200

    def batch(environment):
        began = time.perf_counter()
        for _ in range(runs):
            wait_process(os.posix_spawn("/bin/true", ["true"], environment))
        return (time.perf_counter() - began) / runs * 1e3

    with tempfile.TemporaryDirectory() as folder:
        ours = clean | {"LD_PRELOAD": preload, "COX_DIR": folder}
        plain, observed = [], []
        for i in range(pairs):
            for kind in ((0, 1) if i % 2 == 0 else (1, 0)):
                (observed if kind else plain).append(batch(ours if kind else clean))
        assert os.listdir(folder) == [], "a process that is no rank left a file"
    mean, low, high = interval([b - a for a, b in zip(plain, observed)])
    print(f"startup: {statistics.median(plain):.3f} ms plain, {statistics.median(observed):.3f} ms with the object, "
          f"added {mean:.3f} ms (95 % {low:.3f} to {high:.3f}), {pairs} pairs of {runs} processes")


def timed(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    done = subprocess.run(command, env=clean, capture_output=True, text=True, timeout=300)
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, (done.returncode, done.stderr)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def by_count(folder):
    """Largest share of a rank's observed time that its hooked calls took at the measured cost."""
    trace = subprocess.run([cox, "export", folder, "--to", "perfetto", "-o", folder + ".json", "--force"], env=clean,
                           capture_output=True, text=True)
    assert trace.returncode == 0, trace.stderr
    events = json.load(open(folder + ".json"))["traceEvents"]
    calls, first, last = {}, {}, {}
    for e in events:
        if "ts" not in e or e.get("ph") not in ("X", "B", "i"):
            continue
        rank = e["pid"]
        calls[rank] = calls.get(rank, 0) + 1
        first[rank] = min(first.get(rank, e["ts"]), e["ts"])
        last[rank] = max(last.get(rank, e["ts"]), e["ts"])
    return max(calls[r] * ns_per_call * 1e-3 / (last[r] - first[r]) for r in calls), max(calls.values())


def job():
    paced = what.startswith("pace-")
    if what.endswith("mpi"):
        command = ["mpirun.openmpi", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-n", "16",
                   os.path.join(build, "tests", "e2e", "guest_trials.openmpi"), "skew", "400", "-1", "0"]
    else:
        command = ["/usr/bin/python3", os.path.join(source, "examples", "torch_ddp.py"), "--ranks", "4",
                   "--steps", "100"]
    wall, cpu = [], []
    with tempfile.TemporaryDirectory() as work:
        for i in range(pairs):
            folder = os.path.join(work, f"run-{i}")
            # The job alone against the whole of `cox observe`, its own start and end included.
            # With "pace-": the same without and with the controller's observing.
            kinds = [command, [cox, "observe", "-q", "-o", folder, "--", *command]]
            if paced:
                kinds = [[cox, "observe", "-q", "-o", f"{folder}-{mode}", "--pace", mode, "--", *command]
                         for mode in ("off", "observe")]
            took = {}
            for kind in ((0, 1) if i % 2 == 0 else (1, 0)):
                took[kind] = timed(kinds[kind])
            wall.append(took[1][0] / took[0][0] - 1)
            cpu.append(took[1][1] / took[0][1] - 1)
        if not paced:
            folder = os.path.join(work, "counted")
            timed([cox, "observe", "-q", "-o", folder, "--", *command])
            share, calls = by_count(folder)
    for name, values in (("wall", wall), ("CPU", cpu)):
        mean, low, high = interval(values)
        print(f"{what}: {name} time {100 * mean:+.2f} % (95 % {100 * low:+.2f} to {100 * high:+.2f}; median "
              f"{100 * statistics.median(values):+.2f}), {pairs} pairs")
    if paced:
        return
    print(f"{what}: by count {100 * share:.4f} % of a rank's time ({calls} records at {ns_per_call:.0f} ns)")


def keepers_of(root):
    """CPU seconds of each guest's thread below a process, by its number."""
    used = {}
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        try:
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as children:
                    waiting += [int(child) for child in children.read().split()]
                with open(f"/proc/{pid}/task/{thread}/comm", encoding="ascii") as name:
                    if name.read().strip() != "cox-keeper":
                        continue
                with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as stat:
                    used[thread] = int(stat.read().split()[0]) * 1e-9
        except OSError:
            continue  # it has ended
    return used


def rate_of_keepers(command, seconds):
    """Microseconds of CPU time per second of each guest's thread, its start and end left out; and the job's output."""
    with subprocess.Popen(command, env=clean, stdout=subprocess.PIPE, text=True) as job_of_ours:
        time.sleep(4)
        first, began = keepers_of(job_of_ours.pid), time.monotonic()
        time.sleep(seconds)
        last, lasted = keepers_of(job_of_ours.pid), time.monotonic() - began
        output = job_of_ours.communicate(timeout=120)[0]
        assert job_of_ours.returncode == 0, job_of_ours.returncode
    return [1e6 * (last[thread] - first[thread]) / lasted for thread in last if thread in first], output


def spread(values):
    return f"{statistics.median(values):.0f} ({min(values):.0f} to {max(values):.0f})"


def keeper():
    with tempfile.TemporaryDirectory() as work:
        for name, sleep in (("sleeps", "1000"), ("some 900 all-reduces a second", "1")):
            rates = {"1": [], "0": []}
            for i in range(pairs):
                for sync in ("1", "0") if i % 2 == 0 else ("0", "1"):
                    program = [os.path.join(build, "tests", "e2e", "timed_steps.mpich"), "27", sleep, "-1", "0"]
                    rates[sync] += rate_of_keepers([cox, "observe", "-q", "-o", f"{work}/{sleep}-{sync}-{i}", "--sync",
                                                    sync, "--", *program], 20)[0]
            print(f"keeper, a rank that {name}: {spread(rates['1'])} us a second, --sync 0 {spread(rates['0'])}, "
                  f"{pairs} runs each")


def noise():
    ranks, seconds = 16, 15
    command = ["mpirun.openmpi", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-n", str(ranks),
               os.path.join(build, "tests", "e2e", "timed_steps.openmpi"), str(seconds), "9", "-1", "0"]
    longer, steps, threads = [], [], []
    with tempfile.TemporaryDirectory() as work:
        for i in range(pairs):
            took = {}
            for observed in ((0, 1) if i % 2 == 0 else (1, 0)):
                prefix = [cox, "observe", "-q", "-o", f"{work}/{i}", "--"] if observed else []
                used, output = rate_of_keepers(prefix + command, seconds - 6)
                took[observed] = seconds / int(output.split()[0])
                threads += used
            longer.append(took[1] / took[0] - 1)
            steps.append(took[0])
    mean, low, high = interval(longer)
    print(f"noise: {ranks} ranks, a step of {1e3 * statistics.median(steps):.2f} ms is {100 * mean:+.2f} % longer (95 % "
          f"{100 * low:+.2f} to {100 * high:+.2f}; median {100 * statistics.median(longer):+.2f}), {pairs} pairs; our "
          f"thread takes {spread(threads)} us a second")


{"startup": startup, "keeper": keeper, "noise": noise}.get(what, job)()
