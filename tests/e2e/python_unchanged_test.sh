#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Nothing of ours is in Python: modules, search path, site and environment are as without us, in a plain interpreter,
# an isolated one, a virtual environment, with a user's own sitecustomize and usercustomize, and in their children.
. "$(dirname "$0")/shell.sh"
need python3
cat >"$work/look.py" <<'PY'
import os, site, subprocess, sys
ours = {name for name in os.environ if name.startswith("COX_")} | {"LD_PRELOAD", "_"}  # _: of the shell, the command that it ran
for name in sorted(set(os.environ) - ours):
    print(name, "=", os.environ[name])
print(sys.path, sys.prefix, sys.flags, site.ENABLE_USER_SITE, sorted(sys.modules))
if len(sys.argv) == 1:
    sys.stdout.flush()
    sys.exit(subprocess.run([sys.executable, __file__, "child"]).returncode)
PY
mkdir "$work/own"
echo 'print("the site is customised")' >"$work/own/sitecustomize.py"
echo 'print("for the user, too")' >"$work/own/usercustomize.py"
python=$(readlink -f "$(command -v python3)")
"$python" -m venv --without-pip "$work/venv" || skip "python3 has no venv (package python3-venv)"

same() { # same NAME COMMAND...
  local name=$1
  shift
  equal "$(status "$@")" 0 "$name: exit status without cox"
  cp "$work/out" "$work/plain"
  equal "$(status "$cox" observe -f -o "$work/run" -- "$@")" 0 "$name: exit status under cox"
  diff "$work/plain" "$work/out" || fail "$name: differs"
}
same plain "$python" "$work/look.py"
same isolated "$python" -I -E -S "$work/look.py"
same venv "$work/venv/bin/python" "$work/look.py"
same customised env PYTHONPATH="$work/own" "$python" "$work/look.py"
grep -q 'the site is customised' "$work/out" || fail "the user's own sitecustomize did not run"
same 'python -m site' "$python" -m site
printf 'five interpreters and their children as without cox\n'
