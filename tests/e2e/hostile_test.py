#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Systems that refuse what a guest would like to have: the job ends as it does there without us.

usage: hostile_test.py BUILD SOURCE [CASE...]
"""
import ctypes
import json
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))
from cases import Skip, cases_of, run_cases  # noqa: E402

build = os.path.realpath(sys.argv[1])
cox, guest, program = (os.path.join(build, name) for name in ("cox", "libcox-preload.so", "many_marks"))
clean = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD" and not k.startswith("COX_")}
RANKS, MARKS = 1, 20_000
libc = ctypes.CDLL(None, use_errno=True)


def run(preload=None, folder=None, before=None):
    """(status, output, errors) of the job under a guest, or alone."""
    added = {} if preload is None else {"LD_PRELOAD": preload, "COX_DIR": folder, "COX_MAX_OVERHEAD": "1000"}
    job = subprocess.run([program, str(RANKS), str(MARKS)], env=clean | added, preexec_fn=before, capture_output=True,
                         text=True, timeout=120)
    return job.returncode, job.stdout, job.stderr


def same_as_alone(folder, before=None, preload=guest):
    alone = run(before=before)
    assert alone[0] == 0, ("the job does not run there at all", alone)
    with_us = run(preload, folder, before)
    assert with_us == alone, (with_us, alone)


def diagnosed(folder):
    told = subprocess.run([cox, "diagnose", "--all", folder], capture_output=True, text=True, env=clean, timeout=120)
    return told.returncode, told.stdout + told.stderr


def is_recorded(folder):
    status, said = diagnosed(folder)
    assert status == 0 and "damaged" not in said, (status, said)


# struct sock_filter: code, jump if true, jump if false, constant
LOAD_NUMBER, IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050000
NO_NEW_PRIVILEGES, SET_SECCOMP, BY_FILTER = 38, 22, 2


def refusing(number, error):
    """A filter as containers have: one system call of x86-64 fails with that error."""
    code = b"".join(struct.pack("HBBI", *line) for line in (
        (LOAD_NUMBER, 0, 0, 0), (IF_EQUAL, 0, 1, number), (RETURN, 0, 0, REFUSE | error), (RETURN, 0, 0, ALLOW)))
    lines = ctypes.create_string_buffer(code, len(code))
    filter_ = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 4, ctypes.addressof(lines)))

    def before():
        if libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0 or libc.prctl(SET_SECCOMP, BY_FILTER, filter_, 0, 0) != 0:
            os._exit(77)

    return before


def case_refused_calls(folder):
    calls = {"stat": 4, "rt_sigprocmask": 14, "pwrite64": 18, "sched_yield": 24, "ftruncate": 77, "fdatasync": 75,
             "readlink": 89, "fchmod": 91, "prctl": 157, "gettid": 186, "sched_getaffinity": 204, "getdents64": 217,
             "unshare": 272, "fallocate": 285, "close_range": 436, "getrlimit": 97, "prlimit64": 302, "uname": 63,
             "sched_setaffinity": 203, "sync_file_range": 277, "perf_event_open": 298, "memfd_create": 319, "flock": 73}
    for name, number in calls.items():
        for error in (1, 38):  # EPERM, ENOSYS
            before = refusing(number, error)
            if run(before=before)[0] != 0:
                continue  # the job itself needs it
            inner = os.path.join(folder, f"{name}-{error}")
            os.mkdir(inner)
            same_as_alone(inner, before)
            status, said = diagnosed(inner)
            assert "bug" not in said and status in (0, 3), (name, error, said)


def case_no_thread_allowed(folder):
    """Two processes and no more: the keeper cannot start."""
    if os.getuid() != 0:
        raise Skip("needs root, to become a user without processes")
    user = 64_999
    os.chmod(os.path.dirname(folder), 0o755)
    os.chown(folder, user, user)

    def before():
        os.setgid(user)
        resource.setrlimit(resource.RLIMIT_NPROC, (2, 2))
        os.setuid(user)

    if run(before=before)[0] != 0:
        raise Skip("the build folder cannot be read by others")
    same_as_alone(folder, before)
    assert "the guest's thread could not be started" in diagnosed(folder)[1], diagnosed(folder)


def case_little_address_space(folder):
    for megabytes in (6, 10, 20, 64, 256, 1024):
        limit = megabytes << 20
        before = lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))  # noqa: E731
        if run(before=before)[0] != 0:
            continue
        inner = os.path.join(folder, str(megabytes))
        os.mkdir(inner)
        same_as_alone(inner, before)
    is_recorded(inner)


def case_much_thread_local_memory(folder):
    compiler = shutil.which("cc")
    if compiler is None:
        raise Skip("needs a C compiler")
    library = os.path.join(folder, "libmuch.so")
    source = "__thread char much[400000] __attribute__((tls_model(\"initial-exec\"))); char *get(void) { return much; }"
    subprocess.run([compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=source, text=True, check=True)
    inner = os.path.join(folder, "run")
    os.mkdir(inner)
    with_us = run(f"{guest}:{library}", inner)
    assert with_us == (0, "", ""), with_us
    is_recorded(inner)


def case_other_c_library(folder):
    """A program that is built for musl, as everything in an Alpine container: it starts, and its marks are recorded."""
    compiler = shutil.which("musl-gcc")
    if compiler is None:
        raise Skip("needs musl-gcc (package musl-tools)")
    of_musl = os.path.join(folder, "many_marks")
    include = os.path.join(sys.argv[2], "include")
    subprocess.run([compiler, "-O1", "-I", include, "-o", of_musl,
                    os.path.join(sys.argv[2], "tests", "e2e", "many_marks.c")], check=True)
    inner = os.path.join(folder, "run")
    done = subprocess.run([cox, "observe", "-q", "-o", inner, "--", of_musl, "2", "1000"], env=clean, capture_output=True,
                          text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done
    is_recorded(inner)
    assert re.search(r"2 ranks", diagnosed(inner)[1]), diagnosed(inner)[1]


def elf_hash(name):
    value = 0
    for byte in name:
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ (high >> 24)) & ~high
    return value


def patched_copy(folder):
    """A cox whose guest needs a later C library than there is."""
    for name in os.listdir(build):
        if name.startswith("libcox-") and name.endswith(".so"):
            shutil.copy(os.path.join(build, name), folder)
    shutil.copy(cox, folder)
    patched = os.path.join(folder, "libcox-preload.so")
    needed, later = b"GLIBC_2.2.5", b"GLIBC_9.9.5"
    with open(patched, "rb") as f:
        image = f.read()
    old, new = (struct.pack("<I", elf_hash(name)) for name in (needed, later))
    assert image.count(b"\0" + needed + b"\0") == 1 and old in image
    with open(patched, "wb") as f:
        f.write(image.replace(b"\0" + needed + b"\0", b"\0" + later + b"\0").replace(old, new))
    assert run(patched, folder)[0] != 0, "the patch does not do what it should"
    return os.path.join(folder, "cox")


def case_system_too_old(folder):
    """cox observe finds out before the job does."""
    told = subprocess.run([patched_copy(folder), "observe", "-o", os.path.join(folder, "run"), "--", "sh", "-c",
                           "echo as ever; exit 7"], capture_output=True, text=True, env=clean, timeout=120)
    assert (told.returncode, told.stdout) == (7, "as ever\n"), (told.returncode, told.stdout, told.stderr)
    assert "does not load here" in told.stderr and "GLIBC_9.9.5" in told.stderr, told.stderr


def case_own_sandbox(folder):
    """A program that forbids itself the network while it runs: what our threads ask each other by sockets stops."""
    sandboxed = os.path.join(build, "self_sandbox")
    if subprocess.run([sandboxed], env=clean).returncode != 0:
        raise Skip("no filter over system calls may be set here")
    done = subprocess.run([sandboxed], env=clean | {"LD_PRELOAD": guest, "COX_DIR": folder}, timeout=120)
    assert done.returncode == 0, "ended for a call that is ours"
    is_recorded(folder)


def case_child_signal_ignored(folder):
    """Started by somebody who wants to hear of no child's end."""
    def before():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    script = ["sh", "-c", "grep SigIgn /proc/$$/status; exit 7"]
    alone = subprocess.run(script, env=clean, preexec_fn=before, capture_output=True, text=True)
    with_us = subprocess.run([cox, "observe", "-o", os.path.join(folder, "run"), "--", *script], env=clean, preexec_fn=before,
                             capture_output=True, text=True, timeout=8)
    assert (with_us.returncode, with_us.stdout) == (alone.returncode, alone.stdout), (with_us, alone)


def case_no_file_may_grow(folder):
    """`ulimit -f`, beyond which a write ends its process: the job starts, or we say why not."""
    for cause in (0, 1):
        limit = (cause * 100, resource.RLIM_INFINITY)
        done = subprocess.run([cox, "observe", "-o", os.path.join(folder, f"run{cause}"), "--", "echo", "hi"], env=clean,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),  # noqa: B023
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
        said_why = done.returncode == 125 and "File too large" in done.stderr
        assert said_why or (done.returncode, done.stdout) == (0, "hi\n"), done


def case_the_kernels_clock(folder):
    """The timestamp counter is read only where the kernel itself tells the time by it."""
    source = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
    fake = os.path.join(folder, "source")

    with open(fake, "w") as f:
        f.write("tsc\n")
    probe = subprocess.run(["unshare", "-m", "mount", "--bind", fake, source], capture_output=True, text=True)
    if probe.returncode != 0:
        raise Skip(f"no mount of our own here: {probe.stderr.strip()}")

    def clock_where_the_kernel_uses(name):
        place = os.path.join(folder, name)
        os.mkdir(place)
        with open(fake, "w") as f:
            f.write(name + "\n")
        told = subprocess.run(["unshare", "-m", "sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"', fake, source,
                               program, "1", "10"], env=clean | {"LD_PRELOAD": guest, "COX_DIR": place}, text=True,
                              capture_output=True, timeout=120)
        files = [f for f in os.listdir(place) if f.endswith(".coxraw")]
        assert told.returncode == 0 and len(files) == 1, (files, told)
        with open(os.path.join(place, files[0]), "rb") as f:
            return int.from_bytes(f.read(40)[36:40], "little")  # docs/reference/run-format.md

    with open("/proc/cpuinfo") as f:
        flags = next((line.split() for line in f if line.startswith("flags")), [])
    TICKS, MONOTONIC = 1, 2
    assert clock_where_the_kernel_uses("hpet") == MONOTONIC
    assert clock_where_the_kernel_uses("acpi_pm") == MONOTONIC
    assert clock_where_the_kernel_uses("tsc") == (TICKS if "nonstop_tsc" in flags else MONOTONIC)


def case_words_of_the_loader(folder):
    """What the loader says when it is asked to speak is no refusal."""
    run = os.path.join(folder, "run")
    told = subprocess.run([cox, "observe", "-o", run, "--", program, "1", "100"], env=clean | {"LD_SHOW_AUXV": "1"},
                          capture_output=True, text=True, timeout=60)
    assert told.returncode == 0 and "does not load" not in told.stderr, told.stderr
    is_recorded(run)


def case_doctor_through(folder):
    def doctor(command, program=cox):
        told = subprocess.run([program, "doctor", "--json", "--through", command], capture_output=True, text=True, env=clean,
                              cwd=folder, timeout=120)
        if told.returncode != 0:
            return told.returncode, told.stderr
        return {check["key"]: check for check in json.loads(told.stdout)["result"]["checks"]}

    there = doctor("env")
    assert there["there.guest"]["health"] == "ok" and there["there.folder"]["health"] == "ok", there
    status, said = doctor("true")
    assert status == 3 and "[observe-012]" in said, (status, said)
    status, said = doctor("no-such-program-anywhere")
    assert status == 3 and "[observe-012]" in said, (status, said)
    too_old = os.path.join(folder, "too_old")
    os.mkdir(too_old)
    there = doctor("env", patched_copy(too_old))
    assert there["there.guest"]["health"] == "missing" and "would end every process" in there["there.guest"]["text"], there
    os.chmod(folder, 0o555)
    hidden = os.path.join(os.path.dirname(folder), "hidden.sh")
    with open(hidden, "w") as f:
        f.write(f"#!/bin/sh\nexec unshare -m sh -c 'mount -t tmpfs none {build} && mount -t tmpfs -o ro none {folder} && exec sh'\n")
    os.chmod(hidden, 0o755)
    if subprocess.run([hidden], stdin=subprocess.DEVNULL, capture_output=True).returncode == 0:
        there = doctor(hidden)
        assert there["there.guest"]["health"] == "missing" and "is not there" in there["there.guest"]["text"], there
        assert there["there.folder"]["health"] == "missing", there


run_cases(cases_of(globals(), "case_"), sys.argv[3:])
