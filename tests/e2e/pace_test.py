#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Pacing in real jobs: results are the same bits in every mode, who is late is not delayed, and whatever happens to a
rank, its clock or its signals, no delay is longer than its bound and no job hangs that would not hang without us.

usage: pace_test.py BUILD SOURCE [CASE...]     Those of functions timed_... judge how long something took.
"""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))
from cases import Skip, cases_of, run_cases  # noqa: E402
from processes import signal_process  # noqa: E402

build, source = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
cox = os.path.join(build, "cox")
programs = os.path.join(build, "tests", "e2e")
launcher = shutil.which("mpirun.openmpi")
clean = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD" and not k.startswith("COX_")}
clean |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
MODES = ["observe", "paper", "auto", "always", "random"]
EAGER = "seed=1,window=4,warm_up=2,block=2,settle=0,activate=0,release=0,min_delay=1us,deviations=0"  # delays as soon as there is a wait
# EAGER for auto where imbalance lasts: transfer is known, no test is too dear and none has to wait for long.
# mode random settles on its delay by the first window: one long wait among four would leave none.
SETTLED = EAGER.replace("window=4,warm_up=2", "window=16,warm_up=16")
AUTO = f"auto,{EAGER},budget=1,retry=1,transfer_latency=1us"
OBSERVING, NO_SLACK, LAUNCH_AHEAD, BLOCK_PACED, THRESHOLD, RELEASED, FIXED, CLOCK_STEP, IN_ORDER = (
    0, 2, 5, 9, 13, 14, 15, 16, 21)


def mpi(program, *arguments, ranks=3):
    path = os.path.join(programs, program + ".openmpi")
    if not launcher or not os.access(path, os.X_OK):
        raise Skip(f"no mpirun.openmpi, or {program}.openmpi was not built")
    return ["timeout", "100", launcher, "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-n", str(ranks), path,
            *map(str, arguments)]


def run(command, environment=None):
    return subprocess.run(command, env=clean | (environment or {}), capture_output=True, text=True, timeout=150)


def paced(folder, mode, command):
    return [cox, "observe", "--quiet", "-o", folder, "--pace", mode, "--", *command]


def good(command, environment=None):
    done = run(command, environment)
    assert done.returncode == 0, (command, done.returncode, done.stdout, done.stderr)
    return done


def decisions(folder):
    """By rank, in order of time: (reason, delay decided, delay served), in seconds."""
    page = os.path.join(folder + ".json")
    good([cox, "export", "--to", "perfetto", folder, "-o", page, "--force"])
    with open(page, encoding="utf-8") as f:
        events = json.load(f)["traceEvents"]
    out = {}
    for e in sorted((e for e in events if e.get("cat") == "pace"), key=lambda e: e["ts"]):
        a = e["args"]
        out.setdefault(e["pid"], []).append((a["reason"], a["delay_ns"] * 1e-9, e.get("dur", 0) * 1e-6))
    return out


def delays_of(rank):
    """As decided: on a busy machine a sleep lasts longer than it was asked to."""
    return [d for _, d, _ in rank if d > 0]


def in_mode(folder, mode, job):
    """Its output, and (reason, delay served) of all that is held back; in every mode that delays, somebody is."""
    out = good(paced(folder, f"{mode},{SETTLED if mode.startswith('random') else EAGER}", job)).stdout
    held = [(reason, served) for rank in decisions(folder).values() for reason, delay, served in rank
            if delay > 0 or reason == IN_ORDER]
    delays = sum(reason != IN_ORDER for reason, _ in held)
    assert delays == 0 if mode == "observe" else delays > 10 or mode == "auto", (mode, held)
    return out, held


def case_bits_mpi(work):
    job = mpi("order_sum", 40, 10, ranks=4)
    plain = good(job).stdout
    assert re.fullmatch(r"[0-9a-f]{16}\n", plain), plain
    total = 0
    for mode in MODES + ["always,placement=collective"]:
        out, held = in_mode(os.path.join(work, mode), mode, job)
        assert out == plain, mode
        total += len(held)
    return f"{total} delays"


def case_bits_gloo(work):
    program = os.path.join(build, "examples", "gloo_train")
    if not os.access(program, os.X_OK):
        raise Skip("gloo_train was not built")
    job = ["timeout", "100", program, "--ranks", "3", "--steps", "40", "--fault", "host", "--slow-rank", "2",
           "--host-wait-ms", "10"]
    plain = good(job).stdout
    for mode in MODES:
        folder = os.path.join(work, mode)
        assert in_mode(folder, mode, job)[0] == plain, mode
        assert sorted(decisions(folder)) == [0, 1, 2], mode


def case_bits_auto(work):
    """One rank is late by 25 ms in every step, so auto begins its test at once and holds the others back in it."""
    gloo = os.path.join(build, "examples", "gloo_train")
    jobs = {}
    if os.access(gloo, os.X_OK):
        jobs["gloo"] = ["timeout", "100", gloo, "--ranks", "3", "--steps", "40", "--fault", "host", "--slow-rank", "2",
                        "--host-wait-ms", "25"]
    try:
        jobs["mpi"] = mpi("guest_trials", "skew", 60, 2, 25)
    except Skip:
        if not jobs:
            raise
    said = []
    for name, job in jobs.items():
        folder = os.path.join(work, name)
        assert good(paced(folder, AUTO, job)).stdout == good(job).stdout, name
        found = decisions(folder)
        tested = [served for rank in found.values() for reason, delay, served in rank
                  if reason == BLOCK_PACED and delay > 0]
        assert tested and min(tested) > 0, (name, found)
        ranks = json.loads(good([cox, "pace", folder, "--json"]).stdout)["result"]["record"]["ranks"]
        assert sum(r["delays"] for r in ranks) >= len(tested), (name, ranks, len(tested))
        said.append(f"{name}: {len(tested)} delays in blocks of a test")
    return "; ".join(said)


TRAINING = """
import hashlib, os, sys, time
sys.path.insert(0, sys.argv[1])
from free_port import free_port
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()), GLOO_SOCKET_IFNAME="lo",
                  USE_LIBUV="0")  # not every build of PyTorch has it
child = os.fork()
rank = 1 if child == 0 else 0
torch.set_num_threads(1)
dist.init_process_group("gloo", rank=rank, world_size=2)
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))
model = DistributedDataParallel(model, bucket_cap_mb=0.001)  # several all-reduces, on a pool of threads
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
inputs = torch.randn(256, 32, generator=torch.Generator().manual_seed(rank))
for step in range(60):
    optimizer.zero_grad()
    model(inputs).square().mean().backward()
    if rank == 1:
        time.sleep(0.01)
    optimizer.step()
digest = hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters())).hexdigest()
dist.destroy_process_group()
if rank == 1:
    os._exit(0)  # as multiprocessing ends a child
os.wait()
print(digest)
"""


def case_bits_torch(work):
    if run(["/usr/bin/python3", "-c", "import importlib.util as u; assert u.find_spec('torch')"]).returncode != 0:
        raise Skip("/usr/bin/python3 has no PyTorch (package python3-torch)")
    job = ["timeout", "100", "/usr/bin/python3", "-c", TRAINING, os.path.join(source, "tests", "support")]
    plain = good(job).stdout
    assert re.fullmatch(r"[0-9a-f]{64}\n", plain), plain
    for mode in MODES[:-1] + ["random,placement=collective,order=500ms"]:
        folder = os.path.join(work, mode)
        out, held = in_mode(folder, mode, job)
        assert out == plain, mode
        assert sorted(decisions(folder)) == [0, 1], mode
        # Numbers have no gaps here: whoever is held for one is let go by the one before it.
        ordered = [served for reason, served in held if reason == IN_ORDER]
        assert sum(s >= 0.5 for s in ordered) < 8 and ("order" in mode or not ordered), (mode, ordered)


def case_marks(work):
    """Steps and collectives that a program marks itself."""
    job = [os.path.join(build, "examples", "marks"), "60"]
    if not os.access(job[0], os.X_OK):
        raise Skip("examples/marks was not built")
    folder = os.path.join(work, "run")
    assert good(paced(folder, f"always,{EAGER}", job)).stdout == good(job).stdout
    found = decisions(folder)
    assert sorted(found) == [0, 1, 2, 3] and sum(len(delays_of(rank)) for rank in found.values()) > 10, found


def timed_late_rank(work):
    """Rank 2 sleeps 20 ms longer in each step of 10 ms."""
    said = []
    for mode in ("always", "paper"):
        folder = os.path.join(work, mode)
        good(paced(folder, f"{mode},window=8,warm_up=8", mpi("timed_steps", 2, 10, 2, 20)))
        found = decisions(folder)
        late = sum(delays_of(found[2]))
        for rank in (0, 1):
            # On a busy machine the late rank waits now and then, and these two modes do not ask whether it pays.
            assert len(delays_of(found[rank])) > 20 and sum(delays_of(found[rank])) > 5 * late, (mode, rank, late)
            assert all(d <= 0.1 for _, d, _ in found[rank])
        said.append(f"{mode}: {sum(delays_of(found[0])):.3f} s on an early rank, {late:.3f} s on the late one")
        # What we did is not what the rank did: only rank 2 is named.
        findings = json.loads(good([cox, "diagnose", folder, "--json"]).stdout)["result"]["findings"]
        assert [f["rank"] for f in findings if "rank" in f] == [2], findings
    return "; ".join(said)


def start(folder, mode, command):
    return subprocess.Popen(paced(folder, mode, command), env=clean, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True)


def rank_process(folder, process):
    """A process of the job, by the name of its file."""
    for _ in range(500):
        assert process.poll() is None, process.communicate()
        for file in glob.glob(os.path.join(folder, "*.coxraw")):
            return int(re.search(r"-(\d+)-[0-9a-f]+\.coxraw$", file)[1])
        time.sleep(0.02)
    raise AssertionError("no file of a rank came up")


def timed_stopped(work):
    folder = os.path.join(work, "run")
    process = start(folder, "paper,window=16,warm_up=8,max_delay=50ms,activate=0.3,release=0.25",
                    mpi("timed_steps", 6, 10, -1, 0))
    victim = rank_process(folder, process)
    time.sleep(1)
    signal_process(victim, signal.SIGSTOP)
    time.sleep(2)
    signal_process(victim, signal.SIGCONT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0 and "steps" in out, (process.returncode, out, err)
    found = decisions(folder)
    delays = [d for rank in found.values() for _, d, _ in rank]
    assert 0 < max(delays) <= 0.05, found  # the others saw one enormous wait, and kept to the bound
    assert all(rank[-1][0] == RELEASED for rank in found.values()), found  # and it was forgotten
    return f"{sum(d > 0 for d in delays)} delays, none beyond {max(delays) * 1e3:.1f} ms, then passive again"


def timed_signals(work):
    """A signal in every millisecond neither ends a delay early nor begins it again."""
    folder = os.path.join(work, "run")
    done = good(paced(folder, "always,window=8,warm_up=8", mpi("guest_trials", "alarms", 100, ranks=2)))
    assert done.stdout == "100 steps, interrupted\n", done.stdout
    early = [(d, s) for _, d, s in decisions(folder)[0] if d > 0]
    assert len(early) > 50 and min(d for d, _ in early) > 1.1e-3, early
    assert all(s >= d - 1e-5 for d, s in early), early
    over = sorted(s - d for d, s in early)
    assert over[len(over) // 2] < 1e-3, over
    return f"{len(early)} delays of {early[0][0] * 1e3:.2f} ms, {over[len(over) // 2] * 1e6:.0f} us longer (median)"


def collectives(folder):
    """Fewest of a rank; 0 while the files begin."""
    done = run([cox, "diagnose", folder, "--json"])
    return min((r["collectives"] for r in json.loads(done.stdout)["result"]["ranks"]), default=0) if done.returncode == 0 else 0


def case_rank_gone(work):
    """A job ends as it ends without pacing where a rank is killed while others are held back."""
    codes = []
    for mode in ("off", "always,window=4,warm_up=2"):
        folder = os.path.join(work, mode)
        process = start(folder, mode, mpi("timed_steps", 1000, 10, 2, 10))  # it ends by the kill alone
        victim = rank_process(folder, process)
        while collectives(folder) < 20:  # of which 6 fill the window
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        signal_process(victim, signal.SIGKILL)
        process.communicate(timeout=50)
        codes.append(process.returncode)
    assert codes[0] == codes[1] and codes[0] not in (0, 124), codes  # 124: ended by `timeout`
    assert sum(len(delays_of(rank)) for rank in decisions(folder).values()) > 0, "nobody was held back"
    return f"status {codes[0]}"


def case_clock_step(work):
    """The recording clock is set, by hours forth and by seconds back, in the middle of the job."""
    if not os.path.exists(os.path.join(build, "test_guest", "libcox-preload.so")):
        raise Skip("the guest with a clock of its own was not built")
    guest = os.path.join(work, "guest")
    os.mkdir(guest)
    for file in (os.path.join(build, "test_guest", "libcox-preload.so"), os.path.join(build, "libcox-mpi-openmpi.so")):
        os.symlink(file, os.path.join(guest, os.path.basename(file)))
    for step in (7200, -5):
        for after in (1.5, 15):
            folder = os.path.join(work, f"run{step}after{after}")
            os.mkdir(folder)
            began = time.monotonic()
            good(mpi("timed_steps", 2 * after, 10, 2, 5), {"LD_PRELOAD": os.path.join(guest, "libcox-preload.so"),
                                                           "COX_DIR": folder, "COX_CLOCK": "monotonic",
                                                           "COX_PACE": "paper,window=8,warm_up=8,max_delay=20ms",
                                                           "COX_TEST_CLOCK": f"0,0,0,{after},{step}"})
            start_and_end = time.monotonic() - began - 2 * after
            if start_and_end < 0.5 * after:  # the clock was set while the job made its steps, not while it began
                break
        assert start_and_end < 15, start_and_end
        found = decisions(folder)
        assert all(d <= 0.02 for rank in found.values() for _, d, _ in rank), found
        assert all(rank for rank in found.values()) and delays_of(found[0]), found
        if step < 0:
            assert CLOCK_STEP in [r for r, _, _ in found[0]], found[0]


def case_accelerator(work):
    """Where a driver is loaded a delay would vanish in its queue: passive, and the file says so."""
    plain = glob.glob("/lib/*/libutil.so.1") + glob.glob("/usr/lib/*/libutil.so.1")
    if not plain:
        raise Skip("no small library to stand in for a driver")
    driver = os.path.join(work, "libcuda.so.1")
    shutil.copy(plain[0], driver)
    folder = os.path.join(work, "run")
    good(paced(folder, "always,window=4,warm_up=2", mpi("timed_steps", 1, 10, 2, 10)), {"LD_PRELOAD": driver})
    found = decisions(folder)
    assert [[r for r, _, _ in rank] for rank in found.values()] == [[LAUNCH_AHEAD]] * 3, found
    told = re.sub(r"\s+", " ", good([cox, "diagnose", "--all", folder]).stdout)
    assert "this process is not paced" in told, told


def case_bad_text(work):
    folder = os.path.join(work, "run")
    job = mpi("timed_steps", 0.5, 10, -1, 0)
    for text in ("sometimes", "auto,window=0", "auto,windows=8", "window=32", "", "auto," + 500 * "x"):
        done = run(paced(folder, text, job))
        assert done.returncode == 125 and "--pace" in done.stderr and "[cli-003]" in done.stderr, (text, done)
        assert len(done.stderr) < 400 and not os.path.exists(folder), (text, done.stderr)
    good([cox, "observe", "-o", folder, "--", *job], {"COX_PACE": "always,window=\tx"})
    assert decisions(folder) == {}
    told = re.sub(r"\s+", " ", good([cox, "diagnose", "--all", folder]).stdout)
    assert "COX_PACE cannot be read" in told, told
    good([cox, "observe", "--force", "-o", folder, "--", *job], {"COX_PACE": "window=32"})
    assert decisions(folder) == {}
    told = re.sub(r"\s+", " ", good([cox, "diagnose", "--all", folder]).stdout)
    assert "COX_PACE names no mode" in told, told


def case_priority(work):
    """The Run says whether a late rank could be raised, and that it was."""
    mode = "observe,window=4,warm_up=2,transfer_latency=1us"
    for late_ms in (40, 200, 400):  # where others are late as well, for want of a core, it takes more to be last throughout
        folder = os.path.join(work, f"run{late_ms}")
        job = mpi("timed_steps", max(3, 0.02 * late_ms), 10, 2, late_ms)
        good([cox, "observe", "--quiet", "-o", folder, "--pace", mode, "--pace-priority", "--", *job])
        told = re.sub(r"\s+", " ", good([cox, "diagnose", "--all", folder]).stdout)
        refused = "--pace-priority: refused" in told
        raised = "--pace-priority: this rank was late" in told
        if refused or raised:
            break
    assert refused != raised, told
    return "refused here" if refused else "a rank was raised"


def held_now(root):
    """Descendants of a process that sleep in a delay: until a point of CLOCK_MONOTONIC, which no program here does itself."""
    children, found, at = {}, 0, [root]
    for stat in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(stat, encoding="utf-8", errors="replace") as f:
                children.setdefault(int(f.read().rpartition(")")[2].split()[1]), []).append(int(stat.split("/")[2]))
        except OSError:
            continue
    while at:
        process = at.pop()
        at += children.get(process, [])
        try:
            with open(f"/proc/{process}/syscall", encoding="utf-8") as f:
                found += f.read().split()[1:3] == ["0x1", "0x1"]  # clock, TIMER_ABSTIME
        except OSError:
            continue
    return found


def looks(root):
    """What a second of looking finds."""
    found, end = [], time.monotonic() + 1
    while time.monotonic() < end:
        found.append(held_now(root))
    return found


def case_detached(work):
    """cox detach ends delays as well: ranks that were held in most looks are held in none, and the job ends as it would."""
    with open("/proc/self/syscall", encoding="utf-8") as f:
        if not f.read().split()[1:]:
            raise Skip("/proc tells no system calls here")
    folder = os.path.join(work, "run")
    job = subprocess.Popen(paced(folder, f"always,{EAGER}", mpi("guest_trials", "skew", 120, 2, 40)),
                           env=clean, stdout=subprocess.PIPE, text=True)
    end = time.monotonic() + 30
    while not held_now(job.pid):
        assert job.poll() is None and time.monotonic() < end, "nobody was ever held"
    before = looks(job.pid)
    good([cox, "detach", folder])
    time.sleep(0.2)  # a delay that had begun ends as it would
    after = looks(job.pid)
    assert job.poll() is None, "the job ended too early to tell anything"
    assert job.communicate(timeout=100)[0] == "120 steps\n" and job.returncode == 0, job.returncode
    assert any(before) and not any(after), (before, after)
    return f"{sum(map(bool, before))} of {len(before)} looks found a delay before, none of {len(after)} afterwards"


def case_off(work):
    folder = os.path.join(work, "run")
    job = mpi("timed_steps", 0.5, 10, -1, 0)
    good(paced(folder, "off", job), {"COX_PACE": "always,window=2,warm_up=2"})  # what is typed counts
    assert decisions(folder) == {}


def case_trials(work):
    """Programs that fork and that call from several threads, held back as often as possible."""
    for trial, arguments in (("forks", ()), ("threads", ()), ("reload", ())):
        command = mpi("guest_trials", trial, *arguments, ranks=2)
        done = run(command)
        if done.returncode == 77:
            continue
        mode = f"always,{EAGER}"
        assert good(paced(os.path.join(work, trial), mode, command)).stdout == done.stdout, trial


run_cases(cases_of(globals(), "timed_", "case_"), sys.argv[3:])
