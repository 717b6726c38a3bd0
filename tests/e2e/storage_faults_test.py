#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whatever the file system does to the files of a Run, the job ends as it does without us, and what is left is readable.

usage: storage_faults_test.py BUILD SOURCE [CASE...]
"""
import errno
import json
import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))
from cases import Skip, cases_of, run_cases  # noqa: E402

build = os.path.realpath(sys.argv[1])
cox, guest, faulty = (os.path.join(build, name) for name in ("cox", "libcox-preload.so", "libfaulty_writes.so"))
RANKS, MARKS = 2, 10_000_000
RECORD = 40  # bytes, docs/reference/run-format.md
FEW_MARKS = 100_000
clean = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD" and not k.startswith("COX_")}


def start(folder, preload=guest, marks=MARKS, pause_us=0, **variables):
    job = [os.path.join(build, "many_marks"), str(RANKS), str(marks), str(pause_us)]
    return subprocess.Popen(job, env=clean | {"LD_PRELOAD": preload, "COX_DIR": folder, "COX_MAX_OVERHEAD": "1000"} | variables,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended_well(process):
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out, err) == (0, "", ""), (process.returncode, out, err)


def files(folder):
    return sorted(os.path.join(folder, f) for f in os.listdir(folder))


def files_of_all(folder, process):
    while len(files(folder)) < RANKS or min(map(os.path.getsize, files(folder))) < 300_000:
        assert process.poll() is None, "the job ended before it was disturbed"
        time.sleep(0.01)
    return files(folder)


def diagnosed(folder):
    told = subprocess.run([cox, "diagnose", "--all", folder], capture_output=True, text=True, env=clean, timeout=300)
    assert told.returncode in (0, 3), (told.returncode, told.stderr)
    return re.sub(r"\s+", " ", told.stdout + told.stderr)


def case_truncated(folder):
    process = start(folder)
    for size, path in zip((0, 100_001), files_of_all(folder, process)):
        os.truncate(path, size)
    ended_well(process)
    diagnosed(folder)


def case_unlinked(folder):
    process = start(folder)
    for path in files_of_all(folder, process):
        os.unlink(path)
    ended_well(process)
    assert files(folder) == [], "a removed file came back"


def case_write_fails(folder):
    for error in (errno.EIO, errno.ESTALE, errno.ENOSPC, errno.EDQUOT):
        for after in (0, 2, 5, 40):
            inner = os.path.join(folder, f"{error}-{after}")
            os.mkdir(inner)
            ended_well(start(inner, f"{guest}:{faulty}", FEW_MARKS, FAULT_AFTER=str(after), FAULT_ERRNO=str(error)))
            written = [os.path.getsize(path) for path in files(inner)]
            assert all(size < FEW_MARKS * RECORD for size in written), ("no write failed", error, after, written)
            if written:  # nothing can be written any more, the reason neither: what was there before is readable
                said = diagnosed(inner)
                assert "damaged" not in said, (error, said)


def case_failure_is_told(folder):
    """Where nothing can be written any more, the reason neither, the process tells it to `cox observe`, which keeps it."""
    for error in (errno.EIO, errno.ENOSPC, errno.ENOSYS):
        run = os.path.join(folder, f"run-{error}")
        told = subprocess.run([cox, "observe", "-o", run, "--", os.path.join(build, "many_marks"), str(RANKS), str(FEW_MARKS)],
                              env=clean | {"LD_PRELOAD": faulty, "FAULT_AFTER": "6", "FAULT_ERRNO": str(error)},
                              capture_output=True, text=True, timeout=300)
        assert told.returncode == 0, told
        assert f"could not write all of it: {os.strerror(error)}" in told.stderr, told.stderr
        with open(os.path.join(run, "run.json")) as f:
            told = json.load(f)["unwritten"]
        assert any(e == error and 0 <= rank < RANKS for rank, e in told), told
        assert f"could not be written any more ({os.strerror(error)})" in diagnosed(run) or "files of ranks could not" in diagnosed(run)
    run = os.path.join(folder, "run-from-the-first")
    told = subprocess.run([cox, "observe", "-o", run, "--", os.path.join(build, "many_marks"), str(RANKS), str(FEW_MARKS)],
                          env=clean | {"LD_PRELOAD": faulty, "FAULT_AFTER": "0", "FAULT_ERRNO": str(errno.EIO)},
                          capture_output=True, text=True, timeout=300)
    assert told.returncode == 0 and f"no rank could record into {run}: {os.strerror(errno.EIO)}" in told.stderr, told


def case_folder_moves(folder):
    """A Run's folder that is moved while the job runs was recorded into, and `cox observe` does not deny it."""
    run, moved = os.path.join(folder, "run"), os.path.join(folder, "moved")
    job = subprocess.Popen([cox, "observe", "-o", run, "--", os.path.join(build, "many_marks"), str(RANKS), "2000", "1000"],
                           env=clean, stderr=subprocess.PIPE, text=True)
    while not os.path.isdir(run) or sum(f.endswith(".coxraw") for f in os.listdir(run)) < RANKS:
        assert job.poll() is None, "the job ended before its folder was moved"
        time.sleep(0.01)
    os.rename(run, moved)
    said = job.communicate(timeout=300)[1]
    assert job.returncode == 0 and f"{RANKS} processes began to record" in said and "No such file" in said, said
    assert "no rank could record" not in said, said
    assert f"{RANKS} of {RANKS} ranks" in diagnosed(moved), diagnosed(moved)


def case_disk_fails(folder):
    """The file system takes what is written and says afterwards that the disk has not got it."""
    # It lasts for some seconds: the disk is asked once a second.
    ended_well(start(folder, f"{guest}:{faulty}", marks=4000, pause_us=1000, FAULT_SYNC=str(errno.EIO)))
    assert "recording ended: the file could not be written (an input or output error" in diagnosed(folder)


def case_disk_is_slow(folder):
    """Each write takes two seconds, and memory is full long before: no event waits for one."""
    job = [os.path.join(build, "many_marks"), str(RANKS), str(MARKS), "0", "longest"]
    slow = {"LD_PRELOAD": f"{guest}:{faulty}", "COX_DIR": folder, "COX_MAX_OVERHEAD": "1000", "FAULT_SLOW": "2"}
    done = subprocess.run(job, env=clean | slow, capture_output=True, text=True, timeout=300)
    longest = [float(line) for line in done.stdout.split()]
    assert (done.returncode, done.stderr, len(longest)) == (0, "", RANKS), done
    assert max(longest) < 1e6, longest
    assert all(os.path.getsize(path) < MARKS * RECORD / 2 for path in files(folder)), "the file took them all"


def case_disk_answers_late(folder):
    """The disk takes five seconds to answer and the job ends meanwhile: what came since is in the file all the same."""
    marks = 200  # for two seconds, so that a second of the wall clock begins and the disk is asked
    ended_well(start(folder, f"{guest}:{faulty}", marks, 10_000, FAULT_SLOW_SYNC="5"))
    told = subprocess.run([cox, "diagnose", "--all", "--json", folder], capture_output=True, text=True, env=clean, timeout=300)
    seen = json.loads(told.stdout)["result"]["coverage_detail"]
    assert (seen["calls_seen"], seen["calls_expected"]) == (RANKS * marks, RANKS * marks), seen


CALL = re.compile(r"(\d+) +(\d+\.\d+) (pwrite64|fdatasync|pread64)\((.*)")
MARKING_S = 7


def case_moments(folder):
    """The guest's thread writes at thirds of the wall clock's second, takes one sample a second, and has the disk hold the
    file as often as it is told."""
    if shutil.which("strace") is None or subprocess.run(["strace", "-o", os.devnull, "true"], capture_output=True).returncode:
        raise Skip("strace is not here, or may not trace")
    for every, most in (("1", MARKING_S + 2), ("3", MARKING_S // 3 + 1), ("0", 0)):
        trace, inner = os.path.join(folder, f"trace-{every}"), os.path.join(folder, every)
        os.mkdir(inner)
        traced = ["strace", "-f", "-ttt", "-s", "80", "-e", "trace=pwrite64,fdatasync,pread64", "-o", trace]
        job = ["env", f"LD_PRELOAD={guest}", f"COX_DIR={inner}", f"COX_SYNC={every}", "COX_MAX_OVERHEAD=1000",
               os.path.join(build, "many_marks"), "1", str(100 * MARKING_S), "10000"]
        done = subprocess.run(traced + job, env=clean, capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done
        calls = [match.groups() for line in open(trace, errors="replace") if (match := CALL.match(line))]
        syncs = [float(at) for _, at, call, _ in calls if call == "fdatasync"]
        samples = [float(at) for _, at, call, rest in calls if call == "pread64" and "(many_marks)" in rest]
        writes = [float(at) for _, at, call, _ in calls if call == "pwrite64"]
        wakes = [b for a, b in zip(writes, writes[1:]) if b - a > 0.1]
        for what, moments in (("syncs", syncs), ("samples", samples[1:])):  # the first one is taken at the start
            assert len({int(at) for at in moments}) == len(moments), (what, moments)
        assert min(most, 1) <= len(syncs) <= most, (every, syncs)
        assert MARKING_S - 3 <= len(samples) - 1 <= MARKING_S + 4, samples
        late = sorted(at % 1 % (1 / 3) for at in wakes)
        assert len(late) >= 2 * MARKING_S, wakes
        # Anywhere in a third a quarter of them would be within 83 ms; a busy machine may wake some late.
        assert late[len(late) // 4] < 0.04, late


def case_file_takes_long(folder):
    """The program waits ten seconds for its file and no more, and nothing else of it is slower."""
    began = time.monotonic()
    ended_well(start(folder, f"{guest}:{faulty}", FEW_MARKS, FAULT_OPEN="600"))
    took = time.monotonic() - began
    assert 9 < took < 60, took
    assert files(folder) == []


COPY_ON_WRITE = """
set -e
mount -o loop "$1/image" "$1/mounted"
mkdir "$1/mounted/run"
head -c 3M /dev/zero >"$1/mounted/room"
sync
head -c 200M /dev/zero >"$1/mounted/ballast" 2>/dev/null || true
sync
rm "$1/mounted/room"
sync
shift
"$@"
"""


def case_copy_on_write(folder):
    """A file system that needs new blocks to write over old ones runs full under files whose blocks are reserved."""
    if os.getuid() != 0 or shutil.which("mkfs.btrfs") is None:
        raise Skip("needs root and mkfs.btrfs")
    mounted = os.path.join(folder, "mounted")
    os.mkdir(mounted)
    image = os.path.join(folder, "image")
    with open(image, "wb") as f:
        f.truncate(120 << 20)
    made = subprocess.run(["mkfs.btrfs", "--mixed", image], capture_output=True, text=True)
    own_mounts = ["unshare", "-m", "--propagation", "private"]
    if made.returncode != 0 or subprocess.run([*own_mounts, "mount", "-o", "loop", image, mounted],
                                              capture_output=True).returncode != 0:
        raise Skip(f"no such image can be mounted here {made.stderr}")
    run, kept = os.path.join(mounted, "run"), os.path.join(folder, "kept")
    job = ("env", f"LD_PRELOAD={guest}", f"COX_DIR={run}", "COX_MAX_OVERHEAD=1000", "COX_MAX_SIZE=64000000",
           os.path.join(build, "many_marks"), str(RANKS), "3000000")
    script = '"$@"; status=$?; (head -c 1M /dev/zero >"$RUN.more") 2>/dev/null && echo "not full"; cp -r "$RUN" "$KEPT"; exit $status'
    done = subprocess.run([*own_mounts, "sh", "-c", COPY_ON_WRITE, "sh", folder, "env", f"RUN={run}", f"KEPT={kept}", "sh", "-c", script, "sh", *job],
                          capture_output=True, text=True, env=clean, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done
    said = diagnosed(kept)  # not even a note may find a block any more: what was there before is readable
    assert "damaged" not in said, said


run_cases(cases_of(globals(), "case_"), sys.argv[3:])
