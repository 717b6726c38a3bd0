# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
# What the end-to-end scripts share. Each gets: $1 = build folder, $2 = source folder. Exit 77 = skipped, with the reason.
set -euo pipefail

build=$(readlink -f "$1")
source_dir=$(readlink -f "$2")
shift 2
cox=$build/cox
work=$(mktemp -d "${TMPDIR:-/tmp}/cox-e2e.XXXXXX")
trap 'rm -rf "$work"' EXIT
unset LD_PRELOAD COX_DIR COX_MAX_SIZE COX_DISABLE COX_CLOCK COX_JOB COX_SHARE COX_BATCH_JOB
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export USE_LIBUV=0  # of PyTorch 2: Debian builds it without libuv, which is asked for otherwise

fail() {
  printf 'FAILED: %s\n' "$*" >&2
  exit 1
}
skip() {
  printf 'SKIP: %s\n' "$*"
  exit 77
}
need() {
  local what
  for what in "$@"; do
    command -v "$what" >/dev/null || skip "$what is not here"
  done
}
need_torch() { # not imported: that takes longer than many a job (Debian's has Gloo)
  /usr/bin/python3 -c 'import importlib.util as u; assert u.find_spec("torch")' 2>/dev/null ||
    skip "/usr/bin/python3 has no PyTorch (package python3-torch)"
}
# mpi_job LIBRARY PROGRAM: sets `program` and `job`, four ranks of it. abi_LIBRARY: a program for the standard ABI of MPI 5,
# with that library behind it.
mpi_job() {
  local library=${1#abi_}
  program=$2.$1
  if [ "$1" != "$library" ]; then
    program=$2.abi
    export LD_LIBRARY_PATH=$build/tests/e2e/$1${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  fi
  need mpirun."$library" /usr/bin/python3
  if [ ! -x "$program" ]; then
    ! command -v mpicc."$1" >/dev/null || fail "${program##*/} did not compile"
    skip "${program##*/} was not built"
  fi
  job=(timeout 100 mpirun."$library")
  [ "$library" = mpich ] || job+=(--oversubscribe --mca mpi_yield_when_idle 1)
  job+=(-n 4 "$program")
}
free_port() { /usr/bin/python3 "$source_dir/tests/support/free_port.py"; }
equal() { [ "$1" = "$2" ] || fail "$3: got '$1', expected '$2'"; }

# status COMMAND...: runs it and prints its exit status; its output goes to $work/out and $work/err.
status() {
  local code=0
  "$@" >"$work/out" 2>"$work/err" || code=$?
  echo "$code"
}

# json FILE EXPRESSION: the value of a Python expression over the document d and its result r.
json() {
  /usr/bin/python3 - "$1" "$2" <<'PY'
import json, sys
with open(sys.argv[1]) as f:
    d = json.load(f)
r = d["result"]
value = eval(sys.argv[2])
print(json.dumps(value) if isinstance(value, (dict, list, bool, type(None))) else value)
PY
}
