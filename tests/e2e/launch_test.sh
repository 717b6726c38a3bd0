#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `cox observe` stays out of the way: exit status, signals, environment, processes that are no ranks, folders.
. "$(dirname "$0")/shell.sh"
need python3
cd "$work"
n=0
observe() {  # observe COMMAND...: under cox, in a new folder each time; sets code and run
  n=$((n + 1))
  run=$work/run-$n
  code=$(status "$cox" observe -o "$run" -- "$@")
}
files_of_guests() { find "$1" -name '*.cox*' | wc -l; }

# the child's exit status is its own
observe /bin/sh -c 'exit 7'
equal "$code" 7 "exit status of a child that exits 7"
observe /bin/sh -c 'kill -KILL $$'
equal "$code" 137 "exit status of a child that is killed"
# who started cox sees the signal, not a number that means it
for name in KILL TERM SEGV PIPE; do
  python3 - "$cox" "$work/ended-by-$name" "$name" <<'PY' || fail "how a job that SIG$name ends looks from outside"
import signal, subprocess, sys
cox, run, name = sys.argv[1:]
ended = subprocess.run([cox, "observe", "-q", "-o", run, "--", "/bin/sh", "-c", f"ulimit -c 0; kill -{name} $$"])
sys.exit(ended.returncode != -getattr(signal, "SIG" + name))
PY
done
# nobody reads our notes any more: the job's status is still its own (a size that is raised is noted before it starts)
code=$(status python3 - "$cox" "$work/unread" <<'PY'
import os, subprocess, sys
unread, noted = os.pipe()
os.close(unread)
script = "exec 2>/dev/null; sleep 0.2; exit 7"
sys.exit(subprocess.run([sys.argv[1], "observe", "--max-size", "1B", "-o", sys.argv[2], "--", "/bin/sh", "-c", script], stderr=noted).returncode)
PY
)
equal "$code" 7 "exit status where nobody reads standard error"
# nor does it hang on the current folder, which somebody may have removed
mkdir "$work/gone" && cd "$work/gone" && rmdir "$work/gone"
code=$(status "$cox" observe -o "$work/from-nowhere" -- /bin/sh -c 'exit 7')
equal "$code" 7 "exit status where the current folder was removed"
code=$(status "$cox" observe -o nowhere -- /bin/sh -c 'exit 7')
equal "$code" 125 "exit status where the Run would lie in a folder that was removed"
cd "$work"
# what the job closes is closed: neither cox nor its witness holds a pipe open that the job inherited
python3 - "$cox" "$work/closes" <<'PY' || fail "an inherited descriptor was held open"
import os, select, subprocess, sys
ready, at_job = os.pipe()
job = subprocess.Popen([sys.argv[1], "observe", "-q", "-o", sys.argv[2], "--", "/bin/sh", "-c",
                        f"exec {at_job}>&- >/dev/null; read line"], pass_fds=[at_job], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
os.close(at_job)
try:
    for end in (ready, job.stdout.fileno()):
        assert select.select([end], [], [], 20)[0], "still held open while the job runs"
        assert os.read(end, 1) == b""
    assert job.poll() is None
finally:
    job.stdin.close()
    job.wait(timeout=30)
PY
# a record lock that whoever started cox holds in it lasts as long as the job, by whichever descriptor of the file
python3 - "$cox" "$work/locks" "$work/locked" <<'PY' || fail "a record lock went before the job did"
import fcntl, os, subprocess, sys
cox, run, path = sys.argv[1:]
open(path, "w").close()
up, low = os.pipe()
at_job = fcntl.fcntl(low, fcntl.F_DUPFD, 100)  # the last that cox lets go of
os.close(low)
holds = ("import fcntl, os, sys; n = [os.open(sys.argv[1], os.O_RDWR) for _ in range(2)]; [os.set_inheritable(i, True) for i in n]; "
         "fcntl.lockf(n[0], fcntl.LOCK_EX); os.execv(sys.argv[2], sys.argv[2:])")
def locked():
    with open(path, "r+") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
        except BlockingIOError:
            return True
job = subprocess.Popen([sys.executable, "-c", holds, path, cox, "observe", "-q", "-o", run, "--", "/bin/bash", "-c",
                        f"exec {at_job}>&-; read line"], pass_fds=[at_job], stdin=subprocess.PIPE)
os.close(at_job)
try:
    assert os.read(up, 1) == b""
    assert job.poll() is None and locked()
finally:
    job.stdin.close()
    job.wait(timeout=30)
assert job.returncode == 1 and not locked(), job.returncode
PY
# the summary goes to a descriptor that --json names, which is not let go of
observe_json() { status "$cox" observe -q -o "$work/json-$1" --json /dev/fd/9 -- /bin/sh -c 'exit 3'; }
equal "$(observe_json file 9>"$work/summary")" 3 "exit status with --json /dev/fd/9"
python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))["result"]["exit_status"] == 3' "$work/summary" ||
  fail "--json /dev/fd/9: $(cat "$work/summary")"
equal "$(observe_json pipe 9> >(cat >"$work/piped"))" 3 "exit status with --json to a pipe"
for _ in {1..400}; do ! grep -q cox.observe/1 "$work/piped" || break; sleep 0.05; done  # the reader outlives cox
grep -q cox.observe/1 "$work/piped" || fail "--json to a pipe: $(cat "$work/piped")"
equal "$(observe_json closed 9>&-)" 125 "exit status where --json names a descriptor that is not open"
[ ! -e "$work/json-closed" ] || fail "a folder was made although --json cannot be written"
observe /bin/true
equal "$code" 0 "exit status of true"
observe "$work/no-such-program"
equal "$code" 127 "exit status where the command is not found"
[ ! -e "$run" ] || fail "a folder was left behind for a command that does not exist"
echo text >"$work/plain-file"
observe "$work/plain-file"
equal "$code" 126 "exit status where the command is not executable"

# output of the child is untouched; ours is on stderr, two lines at the most
observe /bin/sh -c 'echo to-stdout; echo to-stderr >&2'
equal "$code" 0 "exit status of sh"
equal "$(cat out)" to-stdout "stdout"
[ "$(grep -c -v '^to-stderr$' err)" -le 2 ] || fail "more than two lines of our own: $(cat err)"

# processes that are no ranks leave nothing
observe /bin/bash -c '/bin/true; /usr/bin/env >/dev/null; (true); python3 -c "import os; os.fork()"'
equal "$code" 0 "bash"
equal "$(files_of_guests "$run")" 0 "files of processes that are no ranks"

# the environment: only LD_PRELOAD and COX_ are added (for what launchers need see orders_test.sh), the user's values stay
env -u _ | grep -v '^_=' | sort >env-before
observe /usr/bin/env
equal "$code" 0 "env"
grep -v -E '^(LD_PRELOAD|COX_DIR|COX_JOB|COX_BATCH_JOB|_)=' out | sort >env-after
diff env-before env-after || fail "the child's environment differs beyond LD_PRELOAD, COX_DIR, COX_JOB and COX_BATCH_JOB"
equal "$(COX_JOB=mine status "$cox" observe -o "$work/run-job" -- /usr/bin/env)" 0 "env"
equal "$(grep '^COX_JOB=' out)" COX_JOB=mine "the user's COX_JOB"
libc_object=$(ldd /bin/bash | awk '/libc\.so/ {print $3}')
equal "$(LD_PRELOAD=$libc_object COX_MAX_SIZE=12345678 status "$cox" observe -o "$work/run-env" -- /usr/bin/env)" 0 "env"
grep -q "^LD_PRELOAD=.*$libc_object" out || fail "the user's LD_PRELOAD is gone: $(grep LD_PRELOAD out)"
grep '^LD_PRELOAD=' out | grep -q libcox-preload || fail "our object is not preloaded: $(grep LD_PRELOAD out)"
equal "$(grep '^COX_MAX_SIZE=' out)" COX_MAX_SIZE=12345678 "the user's COX_MAX_SIZE"

# signals go to the child, and the Run is closed in order
python3 - "$cox" "$work/run-term" <<'PY'
import os, signal, subprocess, sys, time
cox, out = sys.argv[1:]
child = "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *a: sys.exit(9))\nprint('up', flush=True)\ntime.sleep(60)\n"
p = subprocess.Popen([cox, "observe", "-o", out, "--", sys.executable, "-c", child], stdout=subprocess.PIPE,
                     stderr=subprocess.DEVNULL, text=True)
assert p.stdout.readline() == "up\n"
p.send_signal(signal.SIGTERM)
assert p.wait(timeout=30) == 9, p.returncode
assert os.path.exists(os.path.join(out, "run.json"))
PY

# COX_DISABLE=1: the job runs, nothing is recorded
if [ -x "$build/examples/gloo_train" ]; then
  equal "$(COX_DISABLE=1 status "$cox" observe -o "$work/run-off" -- "$build/examples/gloo_train" --ranks 2 --steps 20)" 0 off
  equal "$(files_of_guests "$work/run-off")" 0 "files with COX_DISABLE=1"
fi

# nothing is overwritten without --force, and nothing foreign with it
mkdir "$work/foreign"
echo precious >"$work/foreign/file"
equal "$(status "$cox" observe -o "$work/foreign" -- /bin/true)" 125 "exit status over a foreign folder"
equal "$(status "$cox" observe -f -o "$work/foreign" -- /bin/true)" 125 "the same with --force"
equal "$(cat "$work/foreign/file")" precious "the foreign file"
equal "$(status "$cox" observe -o "$work/run-term" -- /bin/true)" 125 "exit status over an earlier Run"
equal "$(status "$cox" observe -f -o "$work/run-term" -- /bin/true)" 0 "the same with --force"

# a Run is its owner's, whatever the umask, and --share group widens it for reading; while the job runs and afterwards
for share in owner group; do
  options=()
  [ $share = owner ] || options=(--share group)
  (umask 0 && "$cox" observe -q -o "$work/rights-$share" "${options[@]}" -- "$build/many_marks" 2 3000 500) &
  job=$!
  for _ in $(seq 3000); do [ "$(files_of_guests "$work/rights-$share" 2>/dev/null)" = 2 ] && break || sleep 0.01; done
  rights() { (cd "$work/rights-$share" && stat -c '%a' . && find . -type f -printf '%m\n' | sort -u) | xargs; }
  expected="700 600"
  [ $share = owner ] || expected="750 640"
  equal "$(rights)" "$expected" "rights of folder and files while the job runs (--share $share)"
  wait $job
  equal "$(rights)" "$expected" "rights of folder and files afterwards (--share $share)"
done
